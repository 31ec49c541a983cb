/** Reads unified diffs line by line, and finds them in tool calls. */

export type DiffLine = {
  readonly kind: 'file' | 'hunk' | 'added' | 'removed' | 'same'
  readonly text: string
}

const maxLines = 5_000

export function readDiff(text: string): readonly DiffLine[] {
  return text
    .split('\n')
    .slice(0, maxLines)
    .map((line): DiffLine => {
      if (/^(?:---|\+\+\+|diff |\*\*\* |Index: |={10})/.test(line)) return { kind: 'file', text: line }
      if (line.startsWith('@@')) return { kind: 'hunk', text: line }
      if (line.startsWith('+')) return { kind: 'added', text: line }
      return { kind: line.startsWith('-') ? 'removed' : 'same', text: line }
    })
}

/** The diff of a result, else the one that the input of an edit describes. */
export function findDiff(input: unknown, result: unknown): string | undefined {
  const fields = [result, input].filter((one) => typeof one === 'object' && one !== null) as Record<string, unknown>[]
  for (const one of fields)
    for (const name of ['diff', 'patch']) if (typeof one[name] === 'string' && one[name] !== '') return one[name]
  const [edit] = fields.filter((one) => typeof one['old_string'] === 'string' && typeof one['new_string'] === 'string')
  if (!edit) return undefined
  const mark = (text: unknown, sign: string) =>
    String(text)
      .split('\n')
      .map((line) => sign + line)
  return [`--- ${String(edit['path'] ?? '')}`, ...mark(edit['old_string'], '-'), ...mark(edit['new_string'], '+')].join(
    '\n',
  )
}
