/** Reads the words of diagrams (SmartArt), which are in parts of their own. */

import { openPart, type Part } from './package-parts.ts'
import type { WorkBudget } from './work-budget.ts'
import type { ZipArchive } from './zip-archive.ts'
import { parseXml } from './xml-tokens.ts'

const maxDiagrams = 200

/** Returns the lines of each diagram of a part by the id of its relationship. */
export async function readDiagrams(
  archive: ZipArchive,
  { relations }: Part,
  budget: WorkBudget,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, readonly string[]>()
  for (const [id, { type, target }] of relations) {
    if (type !== 'diagramData' || found.size === maxDiagrams) continue
    const data = await openPart(archive, target)
    if (data) found.set(id, await readPoints(data.xml, budget))
  }
  return found
}

async function readPoints(xml: string, budget: WorkBudget): Promise<readonly string[]> {
  const lines: string[] = []
  let [line, isInText] = ['', false]
  for (const token of parseXml(xml)) {
    const pause = budget.step()
    if (pause) await pause
    if (token.kind === 'text') {
      if (!isInText) continue
      if (!budget.print(token.text.length)) return lines
      line += token.text
    } else if (token.name === 't') isInText = token.kind === 'open' && !token.empty
    else if (token.name === 'p' && token.kind === 'close') {
      if (line.trim() !== '') lines.push(line.trim())
      line = ''
    }
  }
  return lines
}
