/** Checks programs that open connections: only this host needs no approval where there is a network. */

import { isGlob, isKnown, isUnknown, renderField, type Field } from '#agent/path-policy/field.ts'
import { checkWrite } from './check-paths.ts'
import { arrive, has, valueOf, type CommandCheck } from './effects.ts'
import { reportNetwork } from './judge-run.ts'
import type { CommandOptions } from './match-options.ts'
import type { SimpleCommand } from './shell-state.ts'

const curlSending = /^(d|data|data-raw|json)$/
const localHost = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?|0\.0\.0\.0)$/

/** Metadata services, which hand out credentials of the host, and disguised addresses. */
const internalHost =
  /^(169\.254\.|metadata(\.|$)|100\.100\.100\.200$|\[?fd00:ec2|\[?::ffff:|\[?fe80|0x[\da-f]+|\d{5,}$|0\d+\.)|\.internal$/i

/** Whether an address is this host. Asks about addresses that are not plain. */
function isLocal(call: SimpleCommand, url: Field): boolean {
  const [, scheme = 'http', authority = ''] = /^(?:([A-Za-z][A-Za-z\d+.-]*):\/\/)?([^/?#]*)/.exec(url) ?? []
  const host = authority.replace(/^.*@/, '').replace(/:\d+$/, '').replaceAll('\uE004', '0')
  if (!/^https?$/i.test(scheme)) call.ask(`${call.name} opens ${renderField(url)}`)
  else if (isUnknown(url) || isGlob(url)) call.ask(`${call.name} opens an address that is only known at run time`)
  else if (internalHost.test(host) || authority.includes('@'))
    call.ask(`${call.name} opens ${renderField(url)}, which may give out keys`)
  return localHost.test(host)
}

const curl: CommandCheck = (call, options) => {
  const urls = [...options.operands, ...options.values.filter(({ name }) => name === 'url').map(({ value }) => value)]
  const areLocal = urls.map((url) => isLocal(call, url)).every(Boolean)
  const method = valueOf(options, 'X', 'request') ?? 'GET'
  const sends = !/^(GET|HEAD|OPTIONS)$/.test(method) || options.values.some(({ name }) => curlSending.test(name))
  if (sends && !(areLocal && /^(GET|HEAD|OPTIONS|POST|PUT|PATCH)$/.test(method))) call.ask('curl sends data')
  for (const { name, value } of options.values)
    if (curlTexts.test(name) && (!isKnown(value) || /^@|%output|%\{header_json/.test(value)))
      call.ask(`curl is given ${renderField(value)}, which reads or writes a file`)
  checkOutputName(call, urls, valueOf(options, 'o', 'output') ?? '')
  finishDownload(call, options, areLocal)
}

/** `#1` in the name of a file stands for a part of the address. */
function checkOutputName(call: SimpleCommand, urls: readonly Field[], name: Field): void {
  if (name.includes('#') && urls.some((url) => /\{[^{}]*\//.test(url)))
    call.ask('curl writes files that its address names')
}

const curlTexts = /^(H|header|A|user-agent|w|write-out|d|data|data-raw|json)$/

function finishDownload(call: SimpleCommand, options: CommandOptions, areLocal: boolean): void {
  const { name } = call
  if (!areLocal) reportNetwork(call)
  const target = name === 'wget' ? valueOf(options, 'O', 'output-document') : valueOf(options, 'o', 'output')
  const isNamedByAddress = target === undefined && (has(options, 'O', 'remote-name') || name === 'wget')
  if (target !== '-' && (target !== undefined || isNamedByAddress)) arrive(call, 'downloads')
  if (isNamedByAddress) for (const url of options.operands) checkWrite(call, toFileName(url), name)
}

const toFileName = (url: Field): Field => /[^/?]*(?=(\?.*)?$)/.exec(url)?.[0] || 'index.html'

const wget: CommandCheck = (call, options) => {
  finishDownload(call, options, options.operands.map((url) => isLocal(call, url)).every(Boolean))
}

const onlyLocal: CommandCheck = (call, { operands }) => {
  if (localHost.test(operands[0] ?? '')) return
  call.judge.leaves = true
  call.ask(`${call.name} opens a connection to ${renderField(operands[0] ?? '')}`)
}

export const networkChecks: Readonly<Record<string, CommandCheck>> = { curl, wget, nc: onlyLocal, ping: onlyLocal }
