/** Tests the words of errors in both languages. test/e2e/page-words.test.ts renders them. */

import { describe, expect, it } from 'vitest'
import { type FailureKind, failureReasons } from '#agent/core/failure.ts'
import { giveUp } from '#agent/policy/give-up.ts'
import { textIn } from '#agent/core/message.ts'
import { newTurn } from '#agent/core/turn.ts'
import { judgeCommand } from '#agent/shell-policy/judge-command.ts'
import { policyError } from '#worker/input/settings-patch.ts'
import { invalid, notFound } from '#worker/errors.ts'
import { explainError, explainFailure, explainReason } from '../../web/words/errors.ts'
import { germanErrors, germanReasons } from '../../web/words/errors-de.ts'
import { errorCodes } from '../support/error-codes.ts'
import { english } from '../support/english.ts'

const error = (code: string, message: string, param: string | null = null) => ({ code, message, param })

describe('in English, an error', () => {
  it('keeps the sentence of the API, unless that is for its clients', () => {
    expect(explainError(error('conflict', 'There is a checkpoint "a" already.'), 'en')).toBe(
      'There is a checkpoint "a" already.',
    )
    expect(explainError(error('invalid_api_key', 'Send a valid key in the header.'), 'en')).toBe(
      'You are signed out. Sign in again.',
    )
    expect(explainError(error('insufficient_scope', 'x', 'write'), 'en')).toBe('Your key may not do this. (write)')
  })
})

describe('in German, an error', () => {
  it.each([...errorCodes, 'a_code_of_tomorrow'])('with the code %s has no English word', (code) => {
    const text = explainError(error(code, 'This is not what the server has.'), 'de')
    expect(text).not.toMatch(english)
    expect(text.length).toBeGreaterThan(10)
  })

  it.each([
    ['conflict', 'There is a checkpoint "vor dem Umbau" already.', /^Einen Stand „vor dem Umbau“ gibt es schon\.$/],
    ['conflict', 'A run of this job is in progress.', /^Ein Lauf dieses Auftrags ist noch im Gang\.$/],
    ['policy', policyError('a.b', 'Changing it needs a key with the scope "approve".').message, /Recht „approve“/],
    [
      'invalid_request',
      invalid('The name "A (2)" is taken. Choose another one.').message,
      /^Der Name „A \(2\)“ ist vergeben/,
    ],
    ['not_found', notFound().message, /^Das gibt es nicht mehr/],
    [
      'model_not_found',
      'The model x/y is not available here. Did you mean x/z? Use it.',
      /Modell gibt es hier nicht\. Meinst du x\/z\?/,
    ],
    // A sentence that only begins and ends like another one is none.
    ['conflict', 'There is a checkpoint "x" already', /^Das geht gerade nicht/],
  ])('%s: %s', (code, message, german) => {
    expect(explainError(error(code, message), 'de')).toMatch(german)
  })

  it.each([
    'rm -rf build',
    'curl https://example.com -d x',
    'cat .env > /etc/x',
    'chmod 777 a',
    'git clean -fd && git push',
    'sudo ls',
    'PATH=/tmp/bin:$PATH unknown-program',
    'eval "$unknown"',
    'find . -delete',
  ])('has German reasons for the approval of %s', (command) => {
    const { verdict, reasons } = judgeCommand(command, {
      cwd: '/workspace',
      workspace: '/workspace',
      isSandboxed: true,
    })
    expect(verdict).toBe('ask')
    expect(reasons.filter((reason) => explainReason(reason, 'de') === undefined)).toEqual([])
    expect(reasons.map((reason) => explainReason(reason, 'en'))).toEqual(reasons)
  })

  it('leaves a reason that others have written as it is', () => {
    expect(explainReason('The plugin wants to know.', 'de')).toBeUndefined()
  })

  it.each([
    ['The server cannot be reached: check its address', /^Der Server ist nicht zu erreichen\. Prüfe/],
    ['The server cannot be reached: connect ECONNREFUSED', /erreichen: connect ECONNREFUSED$/],
    ['The server redirects (status 301). Give its final address.', /leitet weiter \(Status 301\)/],
    ['The server did not answer in time.', /nicht rechtzeitig/],
  ])('says why a server of MCP is not there: %s', (reason, german) => {
    expect(explainReason(reason, 'de')).toMatch(german)
  })

  it('has a place in its sentence for every part that it names', () => {
    for (const [from, to] of [...Object.entries(germanErrors), ...Object.entries(germanReasons)]) {
      expect(to).not.toMatch(english)
      for (const [place] of to.matchAll(/\{\d\}/g)) expect(from).toContain(place)
    }
  })

  it.each(Object.keys(failureReasons) as readonly FailureKind[])('of a run that failed by %s is no English', (kind) => {
    const { append = [] } = giveUp(newTurn('run_1', 0, 0), { kind, message: 'HTTP 500' }, 0)
    const [, notice = ''] = /^I could not finish this: (.+)$/s.exec(append.map(textIn).join('')) ?? []
    expect(explainFailure(notice, 'de')).toMatch(/^Das konnte ich nicht beenden: .+ \(HTTP 500\)\. Vom Gespräch/)
    expect(explainFailure(notice, 'de')).not.toMatch(english)
  })
})
