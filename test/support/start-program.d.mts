/** Runs a program without input to its end. Its code is null when it was killed. */
export function runProgram(
  program: string,
  words: readonly string[],
  options?: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>>; readonly timeout?: number },
): Promise<{ readonly code: number | null; readonly output: string }>
