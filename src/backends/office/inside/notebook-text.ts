/** Extracts the cells of a Jupyter notebook: their source and their text output. Images are named only. */

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

const maxOutputChars = 4000

function renderOutput({ text: plain, data, ename, evalue }: z.infer<typeof output>): string {
  if (ename !== undefined) return `${ename}: ${evalue ?? ''}`
  if (plain !== undefined) return plain
  const shown = text.safeParse(data?.['text/plain'])
  const picture = Object.keys(data ?? {}).find((type) => type.startsWith('image/'))
  return [...(picture === undefined ? [] : [`[${picture}, not shown]`]), ...(shown.success ? [shown.data] : [])].join(
    '\n',
  )
}

const truncateOutput = (printed: string): string =>
  printed.length <= maxOutputChars ? printed : `${printed.slice(0, maxOutputChars)}\n[output cut]`

/** Returns undefined when the file is not a notebook. */
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
    const outputText = outputs.map(renderOutput).filter(Boolean).join('\n').trimEnd()
    const heading = `--- cell ${i + 1}: ${cell_type} ---`
    return [
      heading,
      source.trimEnd(),
      ...(outputText === '' ? [] : [`--- output of cell ${i + 1} ---`, truncateOutput(outputText)]),
    ].join('\n')
  })
  return parts.join('\n\n')
}
