/** Defines the judgement of command lines. The room `shell-policy` implements it, and is loaded on first use. */

export type HostContext = {
  readonly cwd: string
  readonly workspace: string
  readonly env?: Readonly<Record<string, string>>
  /** The host is disposable and has no secrets. Without a network, code of the project may run without approval. */
  readonly isSandboxed: boolean
  /** Programs reach other hosts. Absent: a sandbox has no network. */
  readonly isOnline?: boolean
  /** The files of the workspace with secrets. Absent: the host was not asked. */
  readonly secretFiles?: readonly string[] | undefined
  /** The symbolic links of the host, with their targets as written. */
  readonly links?: readonly { readonly path: string; readonly target: string }[] | undefined
}

export type CommandVerdict = {
  /** `hardline` never runs, in no mode. */
  readonly verdict: 'allow' | 'ask' | 'hardline'
  /** For the person who approves: the program and its effect. */
  readonly reasons: readonly string[]
  readonly programs: readonly string[]
  /** All commands of the line with expanded words. Approval rules match these texts. */
  readonly commands: readonly string[]
  /** Wildcards or recursion read files that the line does not name, so the secrets of the workspace matter. */
  readonly readsMany?: true
  /** The line may send something to other hosts. */
  readonly leaves?: true
  /** It runs code of the workspace, which may hold what others have written. */
  readonly runsFiles?: true
  /** It asks for the network alone: without one it would run, and it runs no code that it has fetched itself. */
  readonly asksForNetwork?: true
  /** A part was not judged: only a person may allow the line, not the mode, a rule or the judge model. */
  readonly isUnjudged?: true
  /** The rule that “always” may store: a program and its subcommand. Absent where no rule would be safe. */
  readonly rule?: string
}

export type ShellPolicy = {
  readonly judgeCommand: (command: string, host: HostContext) => CommandVerdict
  /** Whether a command line certainly changes no file. */
  readonly isReadOnly: (command: string) => boolean
  /** Returns why a command may not run in the foreground, or undefined. */
  readonly findForegroundProblem: (command: string) => string | undefined
  /** Whether a process would keep running after the command line ends. */
  readonly leavesProcesses: (command: string) => boolean
}
