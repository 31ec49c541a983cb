/** A notebook as its cells: source, and what it printed. Pictures are named, not shown. */

import * as z from 'zod'

const text = z
  .union([z.string(), z.array(z.string())])
  .transform((value) => (typeof value === 'string' ? value : value.join('')))

const output = z.object({
  output_type: z.string(),
  text: text.optional(),
  data: z.record(z.string(), z.unknown()).optional(),
  ename: z.string().optional(),
  evalue: z.string().optional(),
})
const cell = z.object({ cell_type: z.string(), source: text, outputs: z.array(output).default([]) })
const notebook = z.object({ cells: z.array(cell) })

const MAX_OUTPUT = 4000

function printed({ text: plain, data, ename, evalue }: z.infer<typeof output>): string {
  if (ename !== undefined) return `${ename}: ${evalue ?? ''}`
  if (plain !== undefined) return plain
  const shown = text.safeParse(data?.['text/plain'])
  const picture = Object.keys(data ?? {}).find((type) => type.startsWith('image/'))
  return [...(picture === undefined ? [] : [`[${picture}, not shown]`]), ...(shown.success ? [shown.data] : [])].join(
    '\n',
  )
}

const cut = (long: string): string => (long.length <= MAX_OUTPUT ? long : `${long.slice(0, MAX_OUTPUT)}\n[output cut]`)

/** `undefined` when the file is no notebook after all. */
export function extractNotebookText(json: string): string | undefined {
  let raw: unknown
  try {
    raw = JSON.parse(json)
  } catch {
    return undefined
  }
  const parsed = notebook.safeParse(raw)
  if (!parsed.success) return undefined
  const parts = parsed.data.cells.map(({ cell_type, source, outputs }, i) => {
    const said = outputs.map(printed).filter(Boolean).join('\n').trimEnd()
    const heading = `--- cell ${i + 1}: ${cell_type} ---`
    return [heading, source.trimEnd(), ...(said === '' ? [] : [`--- output of cell ${i + 1} ---`, cut(said)])].join(
      '\n',
    )
  })
  return parts.join('\n\n')
}
