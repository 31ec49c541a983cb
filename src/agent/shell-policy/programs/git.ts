/** Judges git: reading and reversible changes in the clone are allowed, everything else needs approval. */

import { isUnknown, mayBeOption, renderField, type Field } from '../field.ts'
import {
  isAbbreviationOf,
  isOutsideWorkspace,
  checkNetwork,
  checkReads,
  isSandboxed,
  withRule,
  checkWrites,
} from '../call-checks.ts'
import { resolvePath } from '../path-zones.ts'
import { judgeCode } from '../nested-shells.ts'
import type { Call, Policy } from '../shell-state.ts'

/** Options of any command that write files, start programs or read files outside the workspace. */
const refusedOptions = [
  'output',
  'output-directory',
  'ext-diff',
  'no-index',
  'open-files-in-pager',
  'upload-pack',
  'receive-pack',
  'exec',
  'template',
  'separate-git-dir',
  'textconv',
  'unsafe-paths',
  'config',
  'recurse-submodules-cmd',
  'gpg-sign',
  'pathspec-from-file',
  'contents',
]

const safeSetting =
  /^(color\.[\w.]+|advice\.[\w.]+|user\.(name|email)|core\.(quotepath|autocrlf|ignorecase|filemode|longpaths|abbrev)|init\.defaultbranch|(commit|tag)\.gpgsign|log\.[\w.]+|status\.[\w.]+|pull\.(rebase|ff)|push\.default|merge\.(conflictstyle|ff)|diff\.(renames|algorithm|nopprefix|mnemonicprefix|colormoved)|fetch\.prune|rebase\.(autostash|autosquash)|grep\.[\w.]+|column\.ui|rerere\.enabled|protocol\.version|http\.version)(=|$)/i

type GitCommand = { readonly sub: string; readonly args: readonly Field[]; readonly cwd: readonly Field[] }

function readGlobalOptions(call: Call): GitCommand {
  const { args } = call
  let { cwd } = call.shell
  let at = 0
  for (; at < args.length; at++) {
    const arg = args[at] ?? ''
    if (!arg.startsWith('-')) break
    if (arg === '-C') {
      const dir = args[++at] ?? ''
      if (isUnknown(dir)) call.ask('git works in a directory that is only known at run time')
      cwd = cwd.map((from) => resolvePath(dir, from))
    } else if (arg === '-c') judgeSetting(call, args[++at] ?? '')
    else if (
      !/^(--no-pager|-P|--bare|--no-optional-locks|--literal-pathspecs|--version|--help|-h|-v|--no-replace-objects)$/.test(
        arg,
      )
    )
      call.ask(`git is given ${renderField(arg)}`)
  }
  return { sub: args[at] ?? '', args: args.slice(at + 1), cwd }
}

function judgeSetting(call: Call, text: Field): void {
  if (text === 'core.pager=cat' || text === 'core.editor=true' || (safeSetting.test(text) && !isUnknown(text))) return
  call.ask(`git is given the setting ${renderField(text)}`)
  const code =
    /^alias\.[^=]+=!([\s\S]*)$/.exec(text)?.[1] ??
    /^[\w.]*(pager|editor|sshcommand|fsmonitor|askpass|external|textconv|helper|cmd|driver|program|clean|smudge|process)[\w.]*=!?([\s\S]+)$/i.exec(
      text,
    )?.[2]
  if (code !== undefined) judgeCode(call, code)
}

type Rule = (call: Call, args: readonly Field[]) => void

const allow: Rule = () => undefined
const hasMatchingOption = (args: readonly Field[], pattern: RegExp, ...names: readonly string[]): boolean =>
  beforeDoubleDash(args).some(
    (arg) => pattern.test(arg) || names.some((name) => arg.length > 4 && isAbbreviationOf(arg, name)),
  )
const beforeDoubleDash = (args: readonly Field[]): readonly Field[] =>
  args.includes('--') ? args.slice(0, args.indexOf('--')) : args
const listOperands = (args: readonly Field[]): readonly Field[] => args.filter((arg) => !arg.startsWith('-'))
const askAbout = (call: Call, operation: string): void =>
  call.ask(`git ${operation}`, `git ${operation.split(' ')[0] ?? ''}`)

const noOptions = /(?!)/

const branch: Rule = (call, args) => {
  if (
    hasMatchingOption(args, /^-[a-z]*[DMCf]/, 'force') ||
    (hasMatchingOption(args, /^-d$/, 'delete') && hasMatchingOption(args, /^-f$/, 'force'))
  )
    askAbout(call, 'branch would delete or overwrite a branch')
}

const tag: Rule = (call, args) => {
  if (hasMatchingOption(args, /^-[a-z]*[dfsu]/, 'delete', 'force', 'sign', 'local-user'))
    askAbout(call, 'tag would delete, move or sign a tag')
}

const checkout: Rule = (call, args) => {
  const making = hasMatchingOption(args, /^-[bt]$/, 'orphan', 'track')
  const [first = '', ...more] = listOperands(args)
  if (hasMatchingOption(args, /^-[a-zA-Z]*[fBpm]/, 'force', 'ours', 'theirs', 'merge', 'patch') || args.includes('--'))
    askAbout(call, 'checkout would discard changes')
  else if (!making && (more.length > 0 || /^\.|\/$|\.\w{1,5}$|[*?\uE002\uE003]/.test(first)))
    askAbout(call, `checkout ${renderField(first)} may discard changes`)
}

const restore: Rule = (call, args) => {
  if (!hasMatchingOption(args, /^-S$/, 'staged') || hasMatchingOption(args, /^-[a-zA-Z]*W/, 'worktree'))
    askAbout(call, 'restore would discard changes')
}

const reset: Rule = (call, args) => {
  if (
    beforeDoubleDash(args).some((arg) =>
      ['hard', 'merge', 'keep', 'recurse-submodules'].some((name) => isAbbreviationOf(arg, name)),
    )
  )
    askAbout(call, 'reset would discard changes')
}

const clean: Rule = (call, args) => {
  if (!hasMatchingOption(args, /^-[a-zA-Z]*n/, 'dry-run') || hasMatchingOption(args, /^-[a-zA-Z]*i/, 'interactive'))
    askAbout(call, 'clean would delete files that are not tracked')
}

const stash: Rule = (call, args) => {
  const [verb = 'push'] = listOperands(args)
  if (!['push', 'list', 'show', 'pop', 'apply', 'save', 'create'].includes(verb))
    askAbout(call, `stash ${renderField(verb)} may lose stashed changes`)
}

const remote: Rule = (call, args) => {
  const [verb = 'show'] = listOperands(args)
  if (verb === 'show' || verb === 'get-url') return
  askAbout(call, `remote ${renderField(verb)} changes the remote repositories`)
}

const rebase: Rule = (call, args) => {
  args.forEach((arg, i) => {
    if (!arg.startsWith('-x') && !isAbbreviationOf(arg, 'exec')) return
    askAbout(call, 'rebase would run commands')
    const joined = /^(?:-x|--\w+=)([\s\S]+)$/.exec(arg)?.[1]
    judgeCode(call, joined ?? args[i + 1] ?? '')
  })
  if (hasMatchingOption(args, /^-[a-zA-Z]*i$/, 'interactive', 'root', 'strategy'))
    askAbout(call, 'rebase changes history')
}

const config: Rule = (call, args) => {
  if (
    args.some((arg) => /^(-l|--list|--get|--get-all|--get-regexp|--get-urlmatch|--show-origin|get|list)$/.test(arg)) &&
    !hasMatchingOption(args, noOptions, 'unset', 'replace-all', 'file', 'edit', 'add')
  )
    return
  const words = listOperands(args).filter((word) => word !== 'set')
  const global = hasMatchingOption(
    args,
    /^-[fe]/,
    'global',
    'system',
    'file',
    'unset',
    'unset-all',
    'replace-all',
    'remove-section',
    'rename-section',
    'edit',
    'blob',
  )
  if (words.length === 1 && !global) return
  const [name = '', value = ''] = words
  if (!safeSetting.test(name) || isUnknown(name) || (global && !isSandboxed(call)))
    askAbout(call, `config changes ${renderField(name)}`)
  if (value.startsWith('!')) judgeCode(call, value.slice(1))
}

const add: Rule = (call, args) => {
  if (hasMatchingOption(args, /^-[a-zA-Z]*[eip]/, 'edit', 'interactive', 'patch'))
    askAbout(call, 'add would wait for input')
}

const commit: Rule = (call, args) => {
  if (hasMatchingOption(args, /^-[a-zA-Z]*S/, 'gpg-sign')) askAbout(call, 'commit would sign')
  if (!isSandboxed(call) && hasMatchingOption(args, noOptions, 'amend'))
    askAbout(call, 'commit --amend changes history')
  checkReads(call, args)
}

const rm: Rule = (call, args) => {
  if (!hasMatchingOption(args, noOptions, 'cached') && hasMatchingOption(args, /^-[a-zA-Z]*[rf]/, 'force'))
    askAbout(call, 'rm would remove directories or changed files')
}

const network: Rule = (call, args) => {
  checkNetwork(call, 'git')
  if (args.some((arg) => /^ext::|^-u|^fd::/.test(arg) || /^-c$/.test(arg) || /^-o(?!rigin)/.test(arg)))
    askAbout(call, 'would start a program to reach the other side')
  if (
    hasMatchingOption(args, /^-[a-zA-Z]*f$/, 'force', 'force-with-lease') ||
    listOperands(args).some((arg) => arg.startsWith('+'))
  )
    askAbout(call, 'would overwrite branches')
}

const clone: Rule = (call, args) => {
  network(call, args)
  // The position of the target depends on the options, so every operand counts.
  checkWrites(call, listOperands(args), 'clone into')
}

const push: Rule = (call) => askAbout(call, 'push publishes commits')

const submodule: Rule = (call, args) => {
  const [verb = 'status', ...rest] = listOperands(args)
  if (verb === 'status' || verb === 'summary') return
  if (verb === 'foreach') {
    judgeCode(call, rest.join(' '))
    askAbout(call, 'submodule foreach runs commands')
  } else if (verb === 'update' || verb === 'init') network(call, args)
  else askAbout(call, `submodule ${renderField(verb)}`)
}

const worktree: Rule = (call, args) => {
  const [verb = 'list', ...words] = listOperands(args)
  if (verb === 'list') return
  if (verb !== 'add') askAbout(call, `worktree ${renderField(verb)}`)
  else checkWrites(call, words, 'make')
}

const bisect: Rule = (call, args) => {
  if (args[0] === 'run') {
    askAbout(call, 'bisect run runs commands')
    call.judge.judgeCall(args.slice(1), call.shell, 'none')
  }
}

const notes =
  (...verbs: readonly string[]): Rule =>
  (call, args) => {
    const [verb = verbs[0] ?? ''] = listOperands(args)
    if (!verbs.includes(verb)) askAbout(call, `${verb} is not on the list of commands that run without approval`)
  }

const archive: Rule = (call, args) => {
  if (hasMatchingOption(args, /^-o/, 'output', 'remote', 'exec'))
    askAbout(call, 'archive would write a file or reach another machine')
}

const merge: Rule = (call, args) => {
  if (hasMatchingOption(args, /^-s/, 'strategy')) askAbout(call, 'merge would start another program')
}

const readingRule =
  'status log diff show rev-parse describe shortlog blame annotate ls-files ls-tree cat-file merge-base rev-list name-rev whatchanged for-each-ref show-ref show-branch count-objects check-ignore check-attr check-ref-format diff-tree diff-index diff-files version help var range-diff cherry fsck verify-commit verify-tag grep get-tar-commit-id patch-id rerere stripspace mktree column interpret-trailers'.split(
    ' ',
  )

const commandRules: Readonly<Record<string, Rule>> = {
  ...Object.fromEntries(readingRule.map((name) => [name, allow])),
  // `git diff` also compares two files outside a repository.
  diff: (call, args) => checkReads(call, listOperands(args)),
  branch,
  tag,
  checkout,
  switch: (call, args) => {
    if (hasMatchingOption(args, /^-[a-zA-Z]*[fC]/, 'force', 'discard-changes', 'force-create', 'merge'))
      askAbout(call, 'switch would discard changes')
  },
  restore,
  reset,
  clean,
  stash,
  remote,
  rebase,
  config,
  add,
  commit,
  rm,
  mv: (call, args) => {
    checkWrites(call, listOperands(args), 'move')
    if (hasMatchingOption(args, /^-f/, 'force')) askAbout(call, 'mv would overwrite files')
  },
  merge,
  'cherry-pick': merge,
  revert: merge,
  init: (call, args) => checkWrites(call, listOperands(args), 'make'),
  fetch: network,
  pull: network,
  clone,
  'ls-remote': network,
  push,
  submodule,
  worktree,
  bisect,
  reflog: notes('show', 'exists'),
  notes: notes('list', 'show'),
  lfs: notes('ls-files', 'status', 'env'),
  'symbolic-ref': (call, args) => {
    if (listOperands(args).length > 1) askAbout(call, 'symbolic-ref changes a reference')
  },
  apply: (call, args) => {
    if (hasMatchingOption(args, noOptions, 'directory', 'unsafe-paths')) askAbout(call, 'apply could write outside')
  },
  am: merge,
  archive,
  'format-patch': allow,
  gc: (call, args) => {
    if (hasMatchingOption(args, noOptions, 'prune', 'aggressive') || hasMatchingOption(args, /^--prune=/))
      askAbout(call, 'gc would delete unreachable objects')
  },
  '': allow,
}

/** Commands in which these options are harmless. */
const textconvCommands =
  /^--(no-textconv|oneline|output-indicator-\w+=.|no-ext-diff|exclude.*|cached|no-gpg-sign|no-recurse-submodules|recurse-submodules|conflict.*|combined.*)$/

const isRefusedOption = (arg: Field): boolean =>
  !textconvCommands.test(arg) && arg !== '--' && refusedOptions.some((name) => isAbbreviationOf(arg, name))

const harmlessShortOptions: Readonly<Record<string, RegExp>> = { grep: /^-[a-zA-Z]*O/, 'format-patch': /^-o/ }

function judgeOptions(call: Call, sub: string, args: readonly Field[]): void {
  for (const arg of beforeDoubleDash(args)) {
    if (sub !== 'config' && sub !== 'help' && (isRefusedOption(arg) || harmlessShortOptions[sub]?.test(arg)))
      call.ask(`git ${sub} is given ${renderField(arg)}, which writes files or starts programs`)
    if (mayBeOption(arg) && !isSandboxed(call)) call.ask(`git ${sub} is given a word that may be an option`)
  }
}

export const git: Policy = (call) => {
  const { sub, args, cwd } = readGlobalOptions(call)
  const rule = Object.hasOwn(commandRules, sub) ? commandRules[sub] : undefined
  const subcommandCall = withRule({ ...call, shell: { ...call.shell, cwd } }, `git ${sub}`)
  // The settings of a repository can start programs, so only repositories of the workspace are trusted.
  if (!['', 'version', 'help'].includes(sub) && isOutsideWorkspace(subcommandCall))
    subcommandCall.ask(`git ${renderField(sub)} works outside the workspace`)
  if (!rule) subcommandCall.ask(`git ${renderField(sub)} is not on the list of commands that run without approval`)
  judgeOptions(subcommandCall, sub, args)
  rule?.(subcommandCall, args)
  return undefined
}
