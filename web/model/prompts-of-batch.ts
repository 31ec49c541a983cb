/** Reads the prompts of a batch: one on each line, JSON lines, or CSV with a column `prompt`. */

import { readCsv } from './csv.ts'

export type Prompt = { readonly prompt: string; readonly id?: string }

const maxPrompts = 10_000

/** A line that is no JSON is a prompt itself. */
export const readPrompts = (text: string, isCsv = false): readonly Prompt[] =>
  (isCsv ? readTable(text) : text.split('\n').flatMap(readLine)).slice(0, maxPrompts + 1)

function readLine(line: string): readonly Prompt[] {
  const text = line.trim()
  if (!text) return []
  if (!/^["{]/.test(text)) return [{ prompt: text }]
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'string') return value.trim() ? [{ prompt: value }] : []
    const { prompt, id } = value as { readonly prompt?: unknown; readonly id?: unknown }
    return typeof prompt === 'string' ? [promptOf(prompt, id)] : [{ prompt: text }]
  } catch {
    return [{ prompt: text }] // A sentence may begin with a quotation mark.
  }
}

function readTable(text: string): readonly Prompt[] {
  const [head = [], ...rows] = readCsv(text, maxPrompts + 2).rows
  const names = head.map((name) => name.trim().toLowerCase())
  const [prompt, id] = [names.indexOf('prompt'), names.indexOf('id')]
  if (prompt < 0) return []
  return rows.flatMap((row) => (row[prompt]?.trim() ? [promptOf(row[prompt], row[id])] : []))
}

const promptOf = (prompt: string, id: unknown): Prompt =>
  id === undefined || id === null || id === '' ? { prompt } : { prompt, id: String(id).slice(0, 200) }
