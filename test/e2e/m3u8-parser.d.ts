/** Types for the parts of the package that tests use, because it has none of its own. */
declare module 'm3u8-parser' {
  export class Parser {
    push(text: string): void;
    end(): void;
    readonly manifest: {
      readonly mediaSequence: number;
      readonly targetDuration: number;
      readonly endList?: boolean;
      readonly discontinuitySequence: number;
      readonly segments: readonly {
        readonly uri?: string;
        readonly duration?: number;
        readonly discontinuity?: boolean;
        readonly gap?: boolean;
        readonly map?: { readonly uri: string };
        readonly parts?: readonly { readonly uri: string; readonly duration: number; readonly gap?: boolean }[];
      }[];
    };
  }
}
