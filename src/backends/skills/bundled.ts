/** Lists the skills that every tenant has. Each is a folder with a SKILL.md. */

import type { BundledSkill } from './protocol.ts'
import analyseTable from './bundled/analyse-table/SKILL.md'
import backgroundCommands from './bundled/background-commands/SKILL.md'
import backupFiles from './bundled/backup-files/SKILL.md'
import bulkEdit from './bundled/bulk-edit/SKILL.md'
import callHttpApi from './bundled/call-http-api/SKILL.md'
import chartData from './bundled/chart-data/SKILL.md'
import checkInvoice from './bundled/check-invoice/SKILL.md'
import cleanCsv from './bundled/clean-csv/SKILL.md'
import codingTask from './bundled/coding-task/SKILL.md'
import compareOptions from './bundled/compare-options/SKILL.md'
import compareTables from './bundled/compare-tables/SKILL.md'
import debugFailure from './bundled/debug-failure/SKILL.md'
import delegateWork from './bundled/delegate-work/SKILL.md'
import editText from './bundled/edit-text/SKILL.md'
import gitWork from './bundled/git-work/SKILL.md'
import handOver from './bundled/hand-over/SKILL.md'
import logTimeline from './bundled/log-timeline/SKILL.md'
import meetingMinutes from './bundled/meeting-minutes/SKILL.md'
import mergeConflict from './bundled/merge-conflict/SKILL.md'
import openPullRequest from './bundled/open-pull-request/SKILL.md'
import planBudget from './bundled/plan-budget/SKILL.md'
import planWork from './bundled/plan-work/SKILL.md'
import readCodebase from './bundled/read-codebase/SKILL.md'
import readDocuments from './bundled/read-documents/SKILL.md'
import recallPastWork from './bundled/recall-past-work/SKILL.md'
import releaseNotes from './bundled/release-notes/SKILL.md'
import reshapeJson from './bundled/reshape-json/SKILL.md'
import reviewChanges from './bundled/review-changes/SKILL.md'
import securityReview from './bundled/security-review/SKILL.md'
import shellText from './bundled/shell-text/SKILL.md'
import summariseText from './bundled/summarise-text/SKILL.md'
import testFirst from './bundled/test-first/SKILL.md'
import translateText from './bundled/translate-text/SKILL.md'
import validateData from './bundled/validate-data/SKILL.md'
import watchPage from './bundled/watch-page/SKILL.md'
import webResearch from './bundled/web-research/SKILL.md'
import writeEmail from './bundled/write-email/SKILL.md'
import writeReadme from './bundled/write-readme/SKILL.md'
import writeReport from './bundled/write-report/SKILL.md'
import writeSkill from './bundled/write-skill/SKILL.md'

const single = (name: string, content: string): BundledSkill => ({ name, files: { 'SKILL.md': content } })

export const bundledSkills: readonly BundledSkill[] = [
  single('analyse-table', analyseTable),
  single('background-commands', backgroundCommands),
  single('backup-files', backupFiles),
  single('bulk-edit', bulkEdit),
  single('call-http-api', callHttpApi),
  single('chart-data', chartData),
  single('check-invoice', checkInvoice),
  single('clean-csv', cleanCsv),
  single('coding-task', codingTask),
  single('compare-options', compareOptions),
  single('compare-tables', compareTables),
  single('debug-failure', debugFailure),
  single('delegate-work', delegateWork),
  single('edit-text', editText),
  single('git-work', gitWork),
  single('hand-over', handOver),
  single('log-timeline', logTimeline),
  single('meeting-minutes', meetingMinutes),
  single('merge-conflict', mergeConflict),
  single('open-pull-request', openPullRequest),
  single('plan-budget', planBudget),
  single('plan-work', planWork),
  single('read-codebase', readCodebase),
  single('read-documents', readDocuments),
  single('recall-past-work', recallPastWork),
  single('release-notes', releaseNotes),
  single('reshape-json', reshapeJson),
  single('review-changes', reviewChanges),
  single('security-review', securityReview),
  single('shell-text', shellText),
  single('summarise-text', summariseText),
  single('test-first', testFirst),
  single('translate-text', translateText),
  single('validate-data', validateData),
  single('watch-page', watchPage),
  single('web-research', webResearch),
  single('write-email', writeEmail),
  single('write-readme', writeReadme),
  single('write-report', writeReport),
  single('write-skill', writeSkill),
]
