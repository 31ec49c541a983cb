/**
 * Lists what prompts say about the bundled skills. The skills themselves are loaded on first use; a test compares this
 * list with them.
 */

import type { NamedSkill } from '#agent/core/skills/skill-material.ts'

const skill = (name: string, category: string, tools: readonly string[] = []): NamedSkill => ({
  name,
  category,
  platforms: [],
  requires: { toolsets: [], tools },
  fallbackFor: { toolsets: [], tools: [] },
})

export const bundledIndex: readonly NamedSkill[] = [
  skill('analyse-table', 'data', ['terminal']),
  skill('background-commands', 'code', ['terminal', 'process']),
  skill('backup-files', 'ops', ['terminal']),
  skill('bulk-edit', 'code', ['search_files', 'terminal']),
  skill('call-http-api', 'data', ['terminal']),
  skill('chart-data', 'data', ['terminal', 'write_file']),
  skill('check-invoice', 'office', ['terminal']),
  skill('clean-csv', 'data', ['terminal']),
  skill('coding-task', 'code', ['terminal']),
  skill('compare-options', 'research'),
  skill('compare-tables', 'data', ['terminal']),
  skill('debug-failure', 'code'),
  skill('delegate-work', 'working', ['delegate_task']),
  skill('edit-text', 'writing', ['read_file']),
  skill('git-work', 'code', ['terminal']),
  skill('hand-over', 'working', ['write_file']),
  skill('log-timeline', 'ops', ['terminal']),
  skill('meeting-minutes', 'writing', ['write_file']),
  skill('merge-conflict', 'code', ['terminal']),
  skill('open-pull-request', 'code', ['terminal']),
  skill('plan-budget', 'office', ['terminal']),
  skill('plan-work', 'working', ['todo']),
  skill('read-codebase', 'code', ['terminal', 'search_files']),
  skill('read-documents', 'documents', ['read_file']),
  skill('recall-past-work', 'working', ['session_search']),
  skill('release-notes', 'code', ['terminal']),
  skill('reshape-json', 'data', ['terminal']),
  skill('review-changes', 'code'),
  skill('security-review', 'code', ['terminal', 'search_files']),
  skill('shell-text', 'data', ['terminal']),
  skill('summarise-text', 'writing', ['read_file']),
  skill('test-first', 'code', ['terminal']),
  skill('translate-text', 'writing', ['read_file']),
  skill('validate-data', 'data', ['terminal']),
  skill('watch-page', 'research', ['cronjob']),
  skill('web-research', 'research', ['web_search']),
  skill('write-email', 'writing'),
  skill('write-readme', 'code', ['write_file']),
  skill('write-report', 'documents', ['write_file']),
  skill('write-skill', 'working', ['skill_manage']),
]
