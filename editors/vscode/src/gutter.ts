// Which lines to mark in the gutter: pure, so that a test needs no editor.

/** A block that the server marks: where its lens is, and what that says. */
export interface Block {
  readonly line: number;
  readonly title: string;
}

/** Lines of one author, counted from 0; `last` is included. */
export interface Span {
  readonly first: number;
  readonly last: number;
  readonly title: string;
}

const PEOPLE = ["a person", "unknown author"];

/** Return whether a block is an agent's, at least in part. */
export function isAgents(block: Block): boolean {
  return !PEOPLE.some((name) => block.title === name || block.title.startsWith(`${name} `));
}

/**
 * Return the spans of agents' lines, in order. Lenses of all blocks are expected: a block ends where the next begins.
 * Blocks outside of the file are left out.
 */
export function listAgentSpans(blocks: readonly Block[], lineCount: number): Span[] {
  const known = blocks.filter((block) => Number.isInteger(block.line) && block.line >= 0 && block.line < lineCount);
  const ordered = [...known].sort((one, other) => one.line - other.line);
  return ordered
    .map((block, index) => ({
      first: block.line,
      last: (ordered[index + 1]?.line ?? lineCount) - 1,
      title: block.title,
      isAgents: isAgents(block),
    }))
    .filter((span) => span.isAgents && span.first <= span.last)
    .map(({ first, last, title }) => ({ first, last, title }));
}

/** Return the command that opens a target in the pages, for a terminal; null for a target that is not plain text. */
export function openCommand(command: readonly string[], target: unknown): string[] | null {
  const program = command[0];
  if (program === undefined || typeof target !== "string" || target === "" || target.startsWith("-")) return null;
  return /[\u0000-\u001f\u007f]/.test(target) ? null : [program, "serve", "--open", target];
}
