// The extension: starts `custody lsp`, and marks the lines of agents in the gutter.

import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";
import { listAgentSpans, openCommand, type Block } from "./gutter";

const PAUSE_MS = 400;

interface Lens {
  readonly range: { readonly start: { readonly line: number } };
  readonly command?: { readonly title: string };
}

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const settings = () => vscode.workspace.getConfiguration("custody");
  const command = settings().get<string[]>("command", ["custody", "lsp"]);
  const [program, ...args] = command;
  if (program === undefined) return;
  const options = () => ({
    lens: settings().get("lens"),
    hints: settings().get("hints"),
    diagnostics: settings().get("diagnostics"),
  });
  const started = new LanguageClient(
    "custody",
    "custody",
    { command: program, args },
    {
      documentSelector: [{ scheme: "file" }],
      initializationOptions: options(),
      middleware: {
        executeCommand: async (name, values, next) => {
          if (name === "custody.why") return showWhy(Number(values[1]) - 1);
          if (name === "custody.open") return openPages(command, values[0]);
          return next(name, values);
        },
      },
    },
  );
  client = started;
  const gutter = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    borderStyle: "solid",
    borderWidth: "0 0 0 2px",
    borderColor: new vscode.ThemeColor("charts.blue"),
    overviewRulerColor: new vscode.ThemeColor("charts.blue"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });
  let isShown = settings().get("gutter", true);
  const draw = async (editor: vscode.TextEditor | undefined) => {
    if (editor === undefined || editor.document.uri.scheme !== "file") return;
    if (!isShown) return editor.setDecorations(gutter, []);
    const version = editor.document.version;
    const blocks = await askBlocks(started, editor.document.uri);
    if (editor.document.version !== version) return; // a newer edit draws again
    editor.setDecorations(
      gutter,
      listAgentSpans(blocks, countLines(editor.document)).map(
        (span) => new vscode.Range(span.first, 0, span.last, Number.MAX_SAFE_INTEGER),
      ),
    );
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const drawSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(() => void draw(vscode.window.activeTextEditor), PAUSE_MS);
  };
  context.subscriptions.push(
    gutter,
    vscode.commands.registerCommand("custody.showWhy", () => vscode.commands.executeCommand("editor.action.showHover")),
    vscode.commands.registerCommand("custody.toggleGutter", () => {
      isShown = !isShown;
      drawSoon();
    }),
    vscode.window.onDidChangeActiveTextEditor(drawSoon),
    vscode.workspace.onDidChangeTextDocument(drawSoon),
    vscode.workspace.onDidSaveTextDocument(drawSoon),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (!change.affectsConfiguration("custody")) return;
      isShown = settings().get("gutter", true);
      void started.sendNotification("workspace/didChangeConfiguration", { settings: { custody: options() } });
      drawSoon();
    }),
  );
  try {
    await started.start();
  } catch {
    const hint = "set custody.command to its absolute path, such as [\"/home/ana/.local/bin/custody\", \"lsp\"]";
    void vscode.window.showErrorMessage(`custody: cannot start '${program}': ${hint}`);
    return;
  }
  drawSoon();
}

export function deactivate(): Thenable<void> | undefined {
  return client?.stop();
}

/** Return every block of a file with its author, whatever lenses are shown. */
async function askBlocks(from: LanguageClient, uri: vscode.Uri): Promise<Block[]> {
  if (!from.isRunning()) return [];
  const lenses = await from.sendRequest<Lens[] | null>("custody/blocks", {
    textDocument: { uri: from.code2ProtocolConverter.asUri(uri) },
  });
  return (lenses ?? []).map((lens) => ({ line: lens.range.start.line, title: lens.command?.title ?? "" }));
}

/** Return the number of lines without the empty one that VS Code shows behind the last newline. */
function countLines(document: vscode.TextDocument): number {
  const last = document.lineCount - 1;
  return document.lineAt(last).text === "" ? last : last + 1;
}

async function showWhy(line: number): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || !Number.isInteger(line)) return;
  const at = new vscode.Position(Math.max(line, 0), 0);
  editor.selection = new vscode.Selection(at, at);
  editor.revealRange(new vscode.Range(at, at));
  await vscode.commands.executeCommand("editor.action.showHover");
}

async function openPages(command: readonly string[], target: unknown): Promise<void> {
  const words = openCommand(command, target);
  if (words === null) return;
  const [shellPath, ...shellArgs] = words;
  const folder = vscode.window.activeTextEditor?.document.uri;
  const cwd = folder && vscode.workspace.getWorkspaceFolder(folder)?.uri;
  vscode.window.createTerminal({ name: "custody", shellPath, shellArgs, cwd }).show();
}
