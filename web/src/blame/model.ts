// The data of the page (pages/blame_lines.py).

export interface About {
  kind: string;
  agent?: string;
  /** The author as a person reads it. */
  title: string;
  model?: string;
  share?: string;
  sure?: string;
  tier?: number;
  confidence?: string;
  grade?: string;
  call?: string;
  reason?: string;
  searched?: string;
  /** Indexes into `Blamed.signals`. */
  signals?: number[];
  claims?: string[];
  commits?: string[];
  session?: number;
}

/** First and last line of a block, and the index of its author in `Blamed.about`. */
export type LineRun = [number, number, number];

export interface Blamed {
  /** The number of the first of these lines, and the number of lines of the whole file. */
  first: number;
  total: number;
  texts: string[];
  runs: LineRun[];
  about: About[];
  /** Name, points, why. */
  signals: [string, string, string][];
  sessions: string[];
  /** By line: the styles of its parts with their lengths, such as "4k,1,3f"; empty for a plain line. */
  colors: string[];
  /** By id: message, author, age and the class of the age. */
  commits: Record<string, [string, string, string, string]>;
}

export interface Places {
  sessions: (string | null)[];
  agents: Record<string, string | null>;
  classes: Record<string, string>;
  /** In a report: the chain of a block, by its first line. */
  chains: Record<string, string | null>;
}
