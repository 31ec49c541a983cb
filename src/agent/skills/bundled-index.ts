/**
 * Lists what prompts say about the bundled skills. The skills themselves are loaded on first use; a test compares this
 * list with them.
 */

import type { IndexedSkill } from '#agent/core/skills/skill-material.ts'

const skill = (name: string, category: string, tools: readonly string[], description: string): IndexedSkill => ({
  name,
  description,
  category,
  platforms: [],
  requires: { toolsets: [], tools },
  fallbackFor: { toolsets: [], tools: [] },
})

export const bundledIndex: readonly IndexedSkill[] = [
  skill(
    'analyse-table',
    'data',
    ['terminal'],
    'Answer questions about CSV, TSV or JSON data: counts, sums, groups, duplicates, outliers, joins. Use it when the user gives a table or an export and asks what is in it.',
  ),
  skill(
    'background-commands',
    'code',
    ['terminal', 'process'],
    'Run builds, servers, watchers and other long commands in the background, follow their output and end them. Use it when a command takes more than a minute or never ends by itself.',
  ),
  skill(
    'bulk-edit',
    'code',
    ['search_files', 'terminal'],
    'Make the same kind of change in many files: rename a symbol, replace a call, update headers or links. Use it when a change touches more than five files.',
  ),
  skill(
    'call-http-api',
    'data',
    ['terminal'],
    'Call an HTTP API with curl and jq: authentication from secrets, pages, rate limits, errors. Use it when the user wants data from a service, or something sent to it.',
  ),
  skill(
    'debug-failure',
    'code',
    [],
    'Find the cause of an error, a failing test or a wrong result step by step, instead of trying changes. Use it after the first fix did not help.',
  ),
  skill(
    'git-work',
    'code',
    ['terminal'],
    'Work with a git repository in the workspace: see what changed, commit in small steps with good messages, branch, undo. Use it before the first commit in a repository and when history has to be explained.',
  ),
  skill(
    'plan-work',
    'working',
    ['todo'],
    'Plan a task of several steps and carry it through with the todo list. Use it when a request has three or more parts, or when earlier attempts lost the thread.',
  ),
  skill(
    'read-documents',
    'documents',
    ['read_file'],
    'Read PDF, Word, Excel and notebook files from the workspace, find passages, and quote them with page or sheet. Use it when the user sends a document or asks what it says.',
  ),
  skill(
    'recall-past-work',
    'working',
    ['session_search'],
    'Find what was said, decided or built in earlier conversations with session_search. Use it for "as last time", "the script from Monday", "what did we decide", or before redoing work.',
  ),
  skill(
    'review-changes',
    'code',
    [],
    'Review a diff, a pull request or a file for defects, and report them by severity with the line. Use it when the user asks for a review or before handing over own changes.',
  ),
  skill(
    'shell-text',
    'data',
    ['terminal'],
    'Search, filter, count and reshape text and logs with grep, sed, awk, sort and cut in the workspace shell. Use it for log analysis, extracting fields, and changes in many lines.',
  ),
  skill(
    'write-report',
    'documents',
    ['write_file'],
    'Write a report, summary or decision paper as a file and hand it to the user, with sources and open questions. Use it when the result is a document rather than an answer.',
  ),
  skill(
    'write-skill',
    'working',
    ['skill_manage'],
    'Turn a way of working that proved itself into a skill, or improve an existing skill, with skill_manage. Use it when the user says "remember how to do this", or after a task that took several wrong turns.',
  ),
]
