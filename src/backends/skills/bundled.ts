/** Lists the skills that every tenant has. Each is a folder with a SKILL.md. */

import type { BundledSkill } from './protocol.ts'
import analyseTable from './bundled/analyse-table/SKILL.md'
import backgroundCommands from './bundled/background-commands/SKILL.md'
import bulkEdit from './bundled/bulk-edit/SKILL.md'
import callHttpApi from './bundled/call-http-api/SKILL.md'
import debugFailure from './bundled/debug-failure/SKILL.md'
import gitWork from './bundled/git-work/SKILL.md'
import planWork from './bundled/plan-work/SKILL.md'
import readDocuments from './bundled/read-documents/SKILL.md'
import recallPastWork from './bundled/recall-past-work/SKILL.md'
import reviewChanges from './bundled/review-changes/SKILL.md'
import shellText from './bundled/shell-text/SKILL.md'
import writeReport from './bundled/write-report/SKILL.md'
import writeSkill from './bundled/write-skill/SKILL.md'

const single = (name: string, content: string): BundledSkill => ({ name, files: { 'SKILL.md': content } })

export const bundledSkills: readonly BundledSkill[] = [
  single('analyse-table', analyseTable),
  single('background-commands', backgroundCommands),
  single('bulk-edit', bulkEdit),
  single('call-http-api', callHttpApi),
  single('debug-failure', debugFailure),
  single('git-work', gitWork),
  single('plan-work', planWork),
  single('read-documents', readDocuments),
  single('recall-past-work', recallPastWork),
  single('review-changes', reviewChanges),
  single('shell-text', shellText),
  single('write-report', writeReport),
  single('write-skill', writeSkill),
]
