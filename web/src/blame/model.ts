// What the page hands to the island (pages/blame_lines.py).

export interface About {
  kind: string;
  agent?: string;
  model?: string;
  share?: string;
  sure?: string;
  tier?: number;
  confidence?: string;
  grade?: string;
  call?: string;
  reason?: string;
  searched?: string;
  /** Where `Blamed.signals` has them. */
  signals?: number[];
  claims?: string[];
  commits?: string[];
  session?: number;
}

/** First and last line of a stretch, and where `Blamed.about` says whose it is. */
export type Stretch = [number, number, number];

export interface Blamed {
  /** The number of the first of these lines, and how many the whole file has. */
  first: number;
  total: number;
  texts: string[];
  runs: Stretch[];
  about: About[];
  /** Name, points, why. */
  signals: [string, string, string][];
  sessions: string[];
}

export interface Places {
  sessions: (string | null)[];
  agents: Record<string, string | null>;
  classes: Record<string, string>;
  /** In a report: the chain behind a stretch, by its first line. */
  chains: Record<string, string | null>;
}
