/** Judges programs that create, copy, pack and read files. */

import { isLiteral, mayBeOption, renderField, anyWords, type Field } from '../field.ts'
import { resolvePaths, resolvePath, getZone } from '../path-zones.ts'
import {
  checkOptions,
  hasOption,
  recordContent,
  readOptions,
  createReader,
  checkReads,
  isSandboxed,
  optionValues,
  hasUnknown,
  checkWrites,
  type Grammar,
} from '../call-checks.ts'
import { getFileContent } from '../simple-command.ts'
import { getInput } from '../decoders.ts'
import type { Call, Policy } from '../shell-state.ts'

const cp: Policy = (call) => {
  const options = readOptions(call.args, {
    short: 'afinprRuvLPHdTx',
    valued: 'tS',
    long: 'archive force interactive no-clobber recursive preserve preserve= update verbose target-directory= no-target-directory parents reflink=',
  })
  checkOptions(call, options)
  const target = optionValues(options, 't', 'target-directory')
  const sources = target.length > 0 ? options.operands : options.operands.slice(0, -1)
  const to = target[0] ?? options.operands.at(-1) ?? ''
  checkReads(call, sources)
  checkWrites(call, [to], 'write')
  // In a directory the copy keeps the name of its source.
  for (const source of sources) {
    const name = source.split('/').findLast((part) => part !== '') ?? ''
    if (isLiteral(name)) checkWrites(call, [`${to}/${name}`], 'write')
    const content = getFileContent(call.shell, source)
    if (content !== 'unknown' || sources.length === 1) recordContent(call, to, content)
  }
  return ['']
}

const ln: Policy = (call) => {
  const options = readOptions(call.args, {
    short: 'sfnvrTi',
    valued: 't',
    long: 'symbolic force no-dereference verbose relative',
  })
  checkOptions(call, options)
  const [target = '', name = '.'] = options.operands
  const dir = name.includes('/') ? name.slice(0, name.lastIndexOf('/')) : '.'
  for (const resolved of resolvePaths(dir, call.shell)) {
    const zone = getZone(resolvePath(target, resolved), call.judge.host)
    if (zone !== 'inside' && zone !== 'temporary')
      call.ask(`ln would make ${renderField(name)} lead to ${renderField(target)}, outside the workspace`)
  }
  checkWrites(call, [...options.operands.slice(1), ...optionValues(options, 't')], 'make')
  return ['']
}

/** Creates the policy of a program that writes to all of its operands. */
const createMaker =
  (grammar: Grammar, effect: string): Policy =>
  (call) => {
    const options = readOptions(call.args, grammar)
    checkOptions(call, options)
    checkWrites(call, options.operands, effect)
    return ['']
  }

const install: Policy = (call) => {
  const options = readOptions(call.args, { short: 'dDvpC', valued: 'mt', long: 'directory mode= target-directory=' })
  checkOptions(call, options)
  if (optionValues(options, 'm', 'mode').some((mode) => !/^0?[0-7]{2}[0145]$/.test(mode)))
    call.ask('install gives unusual rights')
  checkReads(call, options.operands)
  checkWrites(
    call,
    [
      ...optionValues(options, 't', 'target-directory'),
      ...options.operands.slice(hasOption(options, 'd', 'directory') ? 0 : -1),
    ],
    'write',
  )
  return ['']
}

const tee: Policy = (call) => {
  const options = readOptions(call.args, { short: 'aip', long: 'append ignore-interrupts' })
  checkOptions(call, options)
  checkWrites(call, options.operands, 'write')
  const input = getInput(call, [])
  for (const path of options.operands) recordContent(call, path, hasOption(options, 'a', 'append') ? 'unknown' : input)
  return input
}

const listingOptions = {
  short: 'tvzjJZaf',
  valued: 'fC',
  long: 'list verbose file= gzip bzip2 xz zstd auto-compress exclude= wildcards',
}
const packingOptions = `${listingOptions.long} create extract get append update strip-components= directory= no-same-owner exclude-vcs keep-old-files overwrite keep-newer-files`

const tarValuedLetters = 'fCTX'

/** The first word of tar may be options without a dash. Their values follow in the same order. */
function addDashes([first = '', ...rest]: readonly Field[]): readonly Field[] {
  if (!/^[A-Za-z]+$/.test(first)) return [first, ...rest]
  const letters = [...first]
  const valued = letters.filter((letter) => tarValuedLetters.includes(letter))
  return [
    ...letters.flatMap((letter) => [`-${letter}`, ...(valued.includes(letter) ? rest.splice(0, 1) : [])]),
    ...rest,
  ]
}

const tar: Policy = (call) => {
  const options = readOptions(addDashes(call.args), {
    short: 'tvzjJZacxrukpmOohS',
    valued: tarValuedLetters,
    long: packingOptions,
  })
  checkOptions(call, options)
  const [archive = '-'] = optionValues(options, 'f', 'file')
  if (/^[^/]+:/.test(archive)) call.ask(`tar would reach another machine for ${renderField(archive)}`)
  const create = hasOption(options, 'c', 'create', 'r', 'u', 'append', 'update')
  if (create) {
    if (archive !== '-') checkWrites(call, [archive])
    checkReads(call, options.operands)
    return undefined
  }
  checkReads(call, archive === '-' ? [] : [archive])
  if (hasOption(options, 'x', 'extract', 'get') && !hasOption(options, 'O'))
    checkWrites(
      call,
      optionValues(options, 'C', 'directory').length > 0 ? optionValues(options, 'C', 'directory') : ['.'],
      'unpack into',
    )
  return undefined
}

const unzip: Policy = (call) => {
  const options = readOptions(call.args, { short: 'lvtpqonZjcz', valued: 'dx' })
  checkOptions(call, options)
  checkReads(call, options.operands)
  if (!hasOption(options, 'l', 'v', 't', 'p', 'Z', 'c', 'z'))
    checkWrites(call, optionValues(options, 'd').length > 0 ? optionValues(options, 'd') : ['.'], 'unpack into')
  return undefined
}

const zip: Policy = (call) => {
  const options = readOptions(call.args, { short: 'rqjv0123456789uyX', valued: 'xi' })
  checkOptions(call, options)
  checkWrites(call, options.operands.slice(0, 1))
  checkReads(call, options.operands.slice(1))
  return undefined
}

/** gzip and similar programs replace the file. */
const compress: Policy = (call) => {
  const options = readOptions(call.args, {
    short: 'cdfklqtv123456789',
    valued: '',
    long: 'stdout decompress keep force list test best fast',
  })
  checkOptions(call, options)
  checkReads(call, options.operands)
  if (!hasOption(options, 'c', 'stdout', 'l', 't')) checkWrites(call, options.operands, 'replace')
  return undefined
}

const split: Policy = (call) => {
  const options = readOptions(call.args, {
    short: 'd',
    valued: 'lbnaC',
    long: 'lines= bytes= number= numeric-suffixes suffix-length=',
  })
  checkOptions(call, options)
  const [file = '-', prefix = 'x'] = options.operands
  checkReads(call, [file])
  checkWrites(call, [prefix])
  return undefined
}

/** uniq writes to its second operand. */
const uniq: Policy = (call) => {
  const options = readOptions(call.args, { short: 'cdDiuz', valued: 'fsw', long: 'count repeated unique ignore-case' })
  checkOptions(call, options)
  checkReads(call, options.operands.slice(0, 1))
  // An unknown word may split into two.
  checkWrites(call, options.operands.slice(options.operands[0]?.includes(anyWords) ? 0 : 1))
  return undefined
}

const sort: Policy = (call) => {
  const options = readOptions(call.args, {
    short: 'bcCdfghiMmnrRsuVz',
    valued: 'ktoS',
    long: 'reverse numeric-sort human-numeric-sort unique key= field-separator= ignore-case version-sort stable check zero-terminated general-numeric-sort month-sort output=',
  })
  checkOptions(call, options)
  checkReads(call, options.operands)
  checkWrites(call, optionValues(options, 'o', 'output'))
  return undefined
}

const touchGrammar = { short: 'acmh', valued: 'drt', long: 'date= reference= no-create time=' }

/** Programs that only read, with any options. */
const readerNames =
  'head tail wc ls basename dirname realpath readlink stat whoami id groups uname nproc df free uptime ps pgrep pidof cut paste join comm fold fmt nl expand unexpand seq sleep grep egrep fgrep zgrep cmp diff md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum strings od hexdump hd jq which whereis tput locale getconf factor numfmt expr bc cal look nm objdump readelf size zcat bzcat xzcat zstdcat true false : pwd users who w tty logname lscpu lsblk lsb_release vmstat iostat tsort colrm column pr ag ack tokei rgrep exa eza lsd vdir dir gls ghead gtail gwc sync usleep clear reset xmllint yamllint shellcheck hadolint iconv pstree lsof uuidgen lsmod lspci lsusb sw_vers getent dpkg-query'.split(
    ' ',
  )

/** The exceptions: options with which these programs do more. */
const refusedOptions: Readonly<Record<string, RegExp>> = {
  getent: /shadow$/,
  iconv: /^-\w*o|^--o/,
  xmllint: /^--?(o$|output|shell|xinclude)|^--(noout=|nonet=)/,
  shellcheck: /^-\w*x|^--ext|^--rcfile/,
  ag: /^--p/,
  ack: /^--(p|o|env|ackrc)/,
  lsof: /^\+/,
  nm: /^--pl|^@/,
  objdump: /^--pl|^@/,
  size: /^--pl|^@/,
}

const createPlainReader =
  (name: string): Policy =>
  (call) => {
    const refused = call.args.find(
      (arg) => refusedOptions[name]?.test(arg) || (Object.hasOwn(refusedOptions, name) && mayBeOption(arg)),
    )
    if (refused !== undefined) call.ask(`${name} is given ${renderField(refused)}`)
    checkReads(call, call.args)
    if (name === 'jq' && !isSandboxed(call) && call.args.some((arg) => /\benv\b|\$ENV/.test(arg)))
      call.ask('jq shows all variables, secrets among them')
    return undefined
  }

const mktemp: Policy = (call) => {
  const options = readOptions(call.args, {
    short: 'dqut',
    valued: 'p',
    long: 'directory dry-run quiet suffix= tmpdir tmpdir=',
  })
  checkOptions(call, options)
  checkWrites(call, [...options.operands, ...optionValues(options, 'p', 'tmpdir')], 'make')
  return undefined
}

/** The files of a patch are not known, but they are below the directory in which it is applied. */
const patch: Policy = (call) => {
  const options = readOptions(call.args, {
    short: 'NRElstbfu',
    valued: 'piFd',
    long: 'strip= input= forward reverse dry-run batch silent quiet backup directory= fuzz=',
  })
  checkOptions(call, options)
  checkReads(call, optionValues(options, 'i', 'input'))
  checkWrites(call, ['.', ...options.operands, ...optionValues(options, 'd', 'directory')], 'change')
  if (!isSandboxed(call) && !hasOption(options, 'dry-run'))
    call.ask('patch changes files that are only named in the patch')
  return undefined
}

const pager: Policy = (call) => {
  if (call.args.some((arg) => arg.startsWith('+'))) call.ask('less runs commands of its own')
  return createReader({ short: 'NSRFXinegGmMrsEc', long: 'quit-if-one-screen no-init' })(call)
}

const readYaml = createReader({
  short: 'rejncCPMN',
  valued: 'opI',
  long: 'raw-output exit-status null-input output-format= input-format= prettyPrint no-colors colors unwrapScalar',
})

/** Expressions of yq can read other files and variables, and start programs. */
const yq: Policy = (call) => {
  const loading = call.args.some((arg) => /\b(load(_\w+)?|system)\s*\(/.test(arg))
  if (loading) call.ask('yq loads files that its expression names')
  if (!isSandboxed(call) && call.args.some((arg) => /\benv(subst)?\b|\bstrenv\b|\$ENV/.test(arg)))
    call.ask('yq shows all variables, secrets among them')
  return readYaml(call)
}

export const files: Readonly<Record<string, Policy>> = {
  ...Object.fromEntries(readerNames.map((name) => [name, createPlainReader(name)])),
  cp,
  gcp: cp,
  ln,
  install,
  touch: createMaker(touchGrammar, 'make'),
  mkdir: createMaker({ short: 'pv', valued: 'm', long: 'parents verbose mode=' }, 'make'),
  mkfifo: createMaker({ valued: 'm' }, 'make'),
  tee,
  tar,
  gtar: tar,
  unzip,
  zipinfo: createReader(),
  zip,
  gzip: compress,
  gunzip: compress,
  bzip2: compress,
  bunzip2: compress,
  xz: compress,
  unxz: compress,
  zstd: compress,
  split,
  uniq,
  sort,
  gsort: sort,
  dos2unix: createMaker({}, 'change'),
  du: createReader({
    short: 'abchHklmsSx0DL',
    valued: 'dtX',
    long: 'max-depth= summarize human-readable all total apparent-size exclude= bytes',
  }),
  shuf: createReader({ short: 'erz', valued: 'in', long: 'head-count= input-range= echo repeat' }),
  base32: createReader({ short: 'di', valued: 'w', long: 'decode' }),
  basenc: createReader({ short: 'di', valued: 'w', long: 'decode base64 base32 base16 base64url' }),
  tree: createReader({
    short: 'adfpsughDFiCnrtcQNSA',
    valued: 'LIP',
    long: 'dirsfirst du noreport gitignore prune filelimit= charset=',
  }),
  file: createReader({
    short: 'bhiIkLNnprsvz',
    valued: 'F',
    long: 'brief mime mime-type mime-encoding dereference version',
  }),
  bat: createReader({
    short: 'pnA',
    valued: 'lr',
    long: 'plain paging= style= color= language= line-range= theme= decorations=',
  }),
  batcat: createReader({ short: 'pnA', valued: 'lr', long: 'plain paging= style= color= language= line-range=' }),
  mktemp,
  patch,
  less: pager,
  more: createReader({ short: 'dlfpcsu' }),
  man: createReader({ short: 'fkaw', long: 'version apropos whatis where path' }),
  dmesg: createReader({ short: 'HTkuxLw', valued: 'l', long: 'human ctime level= follow' }),
  date: (call) => judgeDate(call),
  hostname: (call) => judgeHostname(call),
  yq,
  top: createReader({ short: 'bcHiSs', valued: 'dnpuUo' }),
  rg: createReader({
    short: 'acFHhiIlLnNopPqsSuUvVwx0b.',
    valued: 'ABCegmMtTfdErj',
    long: 'files-with-matches files-without-match ignore-case line-number no-line-number glob= iglob= type= type-not= type-list count count-matches only-matching max-count= hidden no-ignore context= after-context= before-context= fixed-strings word-regexp smart-case color= colors= heading no-heading json files sort= sortr= multiline multiline-dotall invert-match max-depth= regexp= replace= with-filename no-filename stats pcre2 trim no-messages max-columns= vimgrep column null version help case-sensitive follow quiet passthru unrestricted text encoding= pretty',
  }),
}

function judgeDate(call: Call): undefined {
  const options = readOptions(call.args, {
    short: 'uRI',
    valued: 'dfrvj',
    long: 'utc date= rfc-3339= iso-8601 iso-8601= reference= file= universal rfc-email',
  })
  checkOptions(call, options)
  checkReads(call, optionValues(options, 'f', 'file'))
  if (options.operands.some((word) => !word.startsWith('+')) && !hasOption(options, 'j', 'r', 'v'))
    call.ask('date would set the clock')
  return undefined
}

function judgeHostname(call: Call): undefined {
  const options = readOptions(call.args, { short: 'fiIsdA', long: 'fqdn short' })
  checkOptions(call, options)
  if (options.operands.length > 0 || hasUnknown(call.args))
    call.ask(`${call.name} would change the name of the machine`)
  return undefined
}
