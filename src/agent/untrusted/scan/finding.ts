/** A passage that a scan found. */

export type FindingKind =
  | 'instruction-override'
  | 'hide-from-user'
  | 'system-prompt'
  | 'rule-disregard'
  | 'secret-read'
  | 'exfiltration'
  | 'persistence'
  | 'destructive'
  | 'secret'
  | 'invisible'

export type Finding = {
  readonly kind: FindingKind
  /** The first line of the place, beginning at 1, and the last one. */
  readonly line: number
  readonly lastLine: number
  /** The beginning of the line, without invisible characters and with secrets masked. */
  readonly excerpt: string
}
