/** git: what reads is free, what stays in the clone and can be taken back is free, the rest is asked about. */

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

/** Options that write files, start programs or look at files outside, for every command. */
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

type Found = { readonly sub: string; readonly args: readonly Field[]; readonly cwd: readonly Field[] }

function globals(call: Call): Found {
  const { args } = call
  let { cwd } = call.shell
  let at = 0
  for (; at < args.length; at++) {
    const arg = args[at] ?? ''
    if (!arg.startsWith('-')) break
    if (arg === '-C') {
      const dir = args[++at] ?? ''
      if (isUnknown(dir)) call.ask('git works in a directory that is only known when it runs')
      cwd = cwd.map((from) => resolvePath(dir, from))
    } else if (arg === '-c') setting(call, args[++at] ?? '')
    else if (
      !/^(--no-pager|-P|--bare|--no-optional-locks|--literal-pathspecs|--version|--help|-h|-v|--no-replace-objects)$/.test(
        arg,
      )
    )
      call.ask(`git is given ${renderField(arg)}`)
  }
  return { sub: args[at] ?? '', args: args.slice(at + 1), cwd }
}

function setting(call: Call, text: Field): void {
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

const free: Rule = () => undefined
const has = (args: readonly Field[], pattern: RegExp, ...names: readonly string[]): boolean =>
  before(args).some((arg) => pattern.test(arg) || names.some((name) => arg.length > 4 && isAbbreviationOf(arg, name)))
const before = (args: readonly Field[]): readonly Field[] =>
  args.includes('--') ? args.slice(0, args.indexOf('--')) : args
const plain = (args: readonly Field[]): readonly Field[] => args.filter((arg) => !arg.startsWith('-'))
const ask = (call: Call, what: string): void => call.ask(`git ${what}`, `git ${what.split(' ')[0] ?? ''}`)

const noOptions = /(?!)/

const branch: Rule = (call, args) => {
  if (has(args, /^-[a-z]*[DMCf]/, 'force') || (has(args, /^-d$/, 'delete') && has(args, /^-f$/, 'force')))
    ask(call, 'branch would delete or overwrite a branch')
}

const tag: Rule = (call, args) => {
  if (has(args, /^-[a-z]*[dfsu]/, 'delete', 'force', 'sign', 'local-user'))
    ask(call, 'tag would delete, move or sign a tag')
}

const checkout: Rule = (call, args) => {
  const making = has(args, /^-[bt]$/, 'orphan', 'track')
  const [first = '', ...more] = plain(args)
  if (has(args, /^-[a-zA-Z]*[fBpm]/, 'force', 'ours', 'theirs', 'merge', 'patch') || args.includes('--'))
    ask(call, 'checkout would discard changes')
  else if (!making && (more.length > 0 || /^\.|\/$|\.\w{1,5}$|[*?\uE002\uE003]/.test(first)))
    ask(call, `checkout ${renderField(first)} may discard changes`)
}

const restore: Rule = (call, args) => {
  if (!has(args, /^-S$/, 'staged') || has(args, /^-[a-zA-Z]*W/, 'worktree')) ask(call, 'restore would discard changes')
}

const reset: Rule = (call, args) => {
  if (
    before(args).some((arg) =>
      ['hard', 'merge', 'keep', 'recurse-submodules'].some((name) => isAbbreviationOf(arg, name)),
    )
  )
    ask(call, 'reset would discard changes')
}

const clean: Rule = (call, args) => {
  if (!has(args, /^-[a-zA-Z]*n/, 'dry-run') || has(args, /^-[a-zA-Z]*i/, 'interactive'))
    ask(call, 'clean would delete files that are not tracked')
}

const stash: Rule = (call, args) => {
  const [verb = 'push'] = plain(args)
  if (!['push', 'list', 'show', 'pop', 'apply', 'save', 'create'].includes(verb))
    ask(call, `stash ${renderField(verb)} may lose what was put aside`)
}

const remote: Rule = (call, args) => {
  const [verb = 'show'] = plain(args)
  if (verb === 'show' || verb === 'get-url') return
  ask(call, `remote ${renderField(verb)} changes where code comes from and goes to`)
}

const rebase: Rule = (call, args) => {
  args.forEach((arg, i) => {
    if (!arg.startsWith('-x') && !isAbbreviationOf(arg, 'exec')) return
    ask(call, 'rebase would run commands')
    const joined = /^(?:-x|--\w+=)([\s\S]+)$/.exec(arg)?.[1]
    judgeCode(call, joined ?? args[i + 1] ?? '')
  })
  if (has(args, /^-[a-zA-Z]*i$/, 'interactive', 'root', 'strategy')) ask(call, 'rebase changes history')
}

const config: Rule = (call, args) => {
  if (
    args.some((arg) => /^(-l|--list|--get|--get-all|--get-regexp|--get-urlmatch|--show-origin|get|list)$/.test(arg)) &&
    !has(args, noOptions, 'unset', 'replace-all', 'file', 'edit', 'add')
  )
    return
  const words = plain(args).filter((word) => word !== 'set')
  const global = has(
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
    ask(call, `config changes ${renderField(name)}`)
  if (value.startsWith('!')) judgeCode(call, value.slice(1))
}

const add: Rule = (call, args) => {
  if (has(args, /^-[a-zA-Z]*[eip]/, 'edit', 'interactive', 'patch')) ask(call, 'add would wait for input')
}

const commit: Rule = (call, args) => {
  if (has(args, /^-[a-zA-Z]*S/, 'gpg-sign')) ask(call, 'commit would sign')
  if (!isSandboxed(call) && has(args, noOptions, 'amend')) ask(call, 'commit --amend changes history')
  checkReads(call, args)
}

const rm: Rule = (call, args) => {
  if (!has(args, noOptions, 'cached') && has(args, /^-[a-zA-Z]*[rf]/, 'force'))
    ask(call, 'rm would remove directories or changed files')
}

const network: Rule = (call, args) => {
  checkNetwork(call, 'git')
  if (args.some((arg) => /^ext::|^-u|^fd::/.test(arg) || /^-c$/.test(arg) || /^-o(?!rigin)/.test(arg)))
    ask(call, 'would start a program to reach the other side')
  if (has(args, /^-[a-zA-Z]*f$/, 'force', 'force-with-lease') || plain(args).some((arg) => arg.startsWith('+')))
    ask(call, 'would overwrite branches')
}

const clone: Rule = (call, args) => {
  network(call, args)
  // Which word is the target depends on the options before it.
  checkWrites(call, plain(args), 'clone into')
}

const push: Rule = (call) => ask(call, 'push publishes commits')

const submodule: Rule = (call, args) => {
  const [verb = 'status', ...rest] = plain(args)
  if (verb === 'status' || verb === 'summary') return
  if (verb === 'foreach') {
    judgeCode(call, rest.join(' '))
    ask(call, 'submodule foreach runs commands')
  } else if (verb === 'update' || verb === 'init') network(call, args)
  else ask(call, `submodule ${renderField(verb)}`)
}

const worktree: Rule = (call, args) => {
  const [verb = 'list', ...words] = plain(args)
  if (verb === 'list') return
  if (verb !== 'add') ask(call, `worktree ${renderField(verb)}`)
  else checkWrites(call, words, 'make')
}

const bisect: Rule = (call, args) => {
  if (args[0] === 'run') {
    ask(call, 'bisect run runs commands')
    call.judge.judgeCall(args.slice(1), call.shell, 'none')
  }
}

const notes =
  (...verbs: readonly string[]): Rule =>
  (call, args) => {
    const [verb = verbs[0] ?? ''] = plain(args)
    if (!verbs.includes(verb)) ask(call, `${verb} is not on the list of what runs unasked`)
  }

const archive: Rule = (call, args) => {
  if (has(args, /^-o/, 'output', 'remote', 'exec')) ask(call, 'archive would write a file or reach another machine')
}

const merge: Rule = (call, args) => {
  if (has(args, /^-s/, 'strategy')) ask(call, 'merge would start another program')
}

const readingRule =
  'status log diff show rev-parse describe shortlog blame annotate ls-files ls-tree cat-file merge-base rev-list name-rev whatchanged for-each-ref show-ref show-branch count-objects check-ignore check-attr check-ref-format diff-tree diff-index diff-files version help var range-diff cherry fsck verify-commit verify-tag grep get-tar-commit-id patch-id rerere stripspace mktree column interpret-trailers'.split(
    ' ',
  )

const commandRules: Readonly<Record<string, Rule>> = {
  ...Object.fromEntries(readingRule.map((name) => [name, free])),
  // Two files are compared wherever they lie.
  diff: (call, args) => checkReads(call, plain(args)),
  branch,
  tag,
  checkout,
  switch: (call, args) => {
    if (has(args, /^-[a-zA-Z]*[fC]/, 'force', 'discard-changes', 'force-create', 'merge'))
      ask(call, 'switch would discard changes')
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
    checkWrites(call, plain(args), 'move')
    if (has(args, /^-f/, 'force')) ask(call, 'mv would overwrite files')
  },
  merge,
  'cherry-pick': merge,
  revert: merge,
  init: (call, args) => checkWrites(call, plain(args), 'make'),
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
    if (plain(args).length > 1) ask(call, 'symbolic-ref changes a reference')
  },
  apply: (call, args) => {
    if (has(args, noOptions, 'directory', 'unsafe-paths')) ask(call, 'apply could write outside')
  },
  am: merge,
  archive,
  'format-patch': free,
  gc: (call, args) => {
    if (has(args, noOptions, 'prune', 'aggressive') || has(args, /^--prune=/))
      ask(call, 'gc would drop what was left behind')
  },
  '': free,
}

/** Commands with options of the same name that are harmless there. */
const textconvCommands =
  /^--(no-textconv|oneline|output-indicator-\w+=.|no-ext-diff|exclude.*|cached|no-gpg-sign|no-recurse-submodules|recurse-submodules|conflict.*|combined.*)$/

const loaded = (arg: Field): boolean =>
  !textconvCommands.test(arg) && arg !== '--' && refusedOptions.some((name) => isAbbreviationOf(arg, name))

const harmlessShortOptions: Readonly<Record<string, RegExp>> = { grep: /^-[a-zA-Z]*O/, 'format-patch': /^-o/ }

function judgeOptions(call: Call, sub: string, args: readonly Field[]): void {
  for (const arg of before(args)) {
    if (sub !== 'config' && sub !== 'help' && (loaded(arg) || harmlessShortOptions[sub]?.test(arg)))
      call.ask(`git ${sub} is given ${renderField(arg)}, which writes files or starts programs`)
    if (mayBeOption(arg) && !isSandboxed(call)) call.ask(`git ${sub} is given a word that may be an option`)
  }
}

export const git: Policy = (call) => {
  const { sub, args, cwd } = globals(call)
  const rule = Object.hasOwn(commandRules, sub) ? commandRules[sub] : undefined
  const own = withRule({ ...call, shell: { ...call.shell, cwd } }, `git ${sub}`)
  // Settings of a repository start programs: those of others are not the workspace's.
  if (!['', 'version', 'help'].includes(sub) && isOutsideWorkspace(own))
    own.ask(`git ${renderField(sub)} works outside the workspace`)
  if (!rule) own.ask(`git ${renderField(sub)} is not on the list of what runs unasked`)
  judgeOptions(own, sub, args)
  rule?.(own, args)
  return undefined
}
