import { describe, expect, it } from 'vitest'
import type { Assessment, ApprovalDecision } from '#agent/core/permission/approval.ts'
import {
  type ApprovalPolicy,
  type JudgedCall,
  appliesToSession,
  createDecision,
  hashCall,
  decideApproval,
  assessByRisk,
} from '#agent/policy/approval/approval.ts'
import { renderJudgeInstructions, parseJudgement, renderJudgeQuestion } from '#agent/policy/approval/approval-judge.ts'
import { matchesWildcard } from '#agent/policy/wildcard.ts'

const command = (text: string, more: Partial<Assessment> = {}): JudgedCall => ({
  callId: 'c1',
  tool: 'terminal',
  toolset: 'terminal',
  input: { command: text },
  risk: 'exec',
  location: 'virtual /workspace',
  assessment: { verdict: 'ask', reasons: ['git push sends commits away'], subjects: [text], rule: 'git push', ...more },
})
const policy = (more: Partial<ApprovalPolicy> = {}): ApprovalPolicy => ({
  mode: 'manual',
  rules: [],
  grants: [],
  decisions: [],
  ...more,
})
const push = command('git push origin main')
const safe = command('ls', { verdict: 'allow', reasons: [] })
const hard = command('rm -rf /', { verdict: 'hardline', reasons: ['rm would delete the root'] })
const unjudged = command('a line of 30 000 parts', { isUnjudged: true })
const denial = (asked: JudgedCall, by: ApprovalDecision['by'] = 'person') =>
  createDecision(asked, 1, { did: 'denied', by, reason: '' })

describe('a rule for a channel', () => {
  const chat = { source: 'telegram', origin: { connection: 'ch_1', chat: '-42' } }
  it.each([
    [undefined, true, true],
    ['telegram', true, false],
    ['tele*', true, false],
    ['ch_1', true, false],
    ['ch_1:-42', true, false],
    ['ch_1:*', true, false],
    ['ch_2', false, false],
    ['ch_1:-4', false, false],
    ['api', false, true],
    ['*', true, true],
  ])('%s: in a chat %s, by the API %s', (channel, inChat, byApi) => {
    const rule = { do: 'deny' as const, tool: '*', channel }
    expect([appliesToSession(rule, chat), appliesToSession(rule, { source: 'api' })]).toEqual([inChat, byApi])
  })

  it('named api holds for every client of the API, and named after a client for this one', () => {
    const holds = (channel: string, source: string) => appliesToSession({ do: 'deny', tool: '*', channel }, { source })
    expect(['api', 'cli', 'acp', 'web', 'cron'].map((source) => holds('api', source))).toEqual([
      true,
      true,
      true,
      true,
      false,
    ])
    expect(['api', 'cli', 'web'].map((source) => holds('cli', source))).toEqual([false, true, false])
  })
})

describe('a call', () => {
  const cases: readonly (readonly [
    what: string,
    asked: JudgedCall,
    policy: Partial<ApprovalPolicy>,
    expected: object,
  ])[] = [
    ['without risk runs', safe, {}, { do: 'run' }],
    ['within the risk of the role needs approval as ever', push, { maxRisk: 'exec' }, { do: 'ask' }],
    [
      'above the risk of the role is refused and never asked',
      push,
      { maxRisk: 'net' },
      { do: 'refuse', did: 'refused', decision: { by: 'role' } },
    ],
    [
      'above the risk of the role is refused in mode off, and where rules, grants or a person allow it',
      { ...push, granted: hashCall(push) },
      {
        maxRisk: 'write',
        mode: 'off',
        rules: [{ do: 'allow', tool: '*' }],
        grants: ['terminal: git push'],
        unattended: 'allow',
      },
      { do: 'refuse', decision: { by: 'role' } },
    ],
    [
      'above the risk of the role is refused also when it would run unasked',
      safe,
      { maxRisk: 'none' },
      { do: 'refuse', decision: { by: 'role' } },
    ],
    [
      'that is hardline is refused as such, whatever the role',
      hard,
      { maxRisk: 'read' },
      { do: 'refuse', decision: { by: 'hardline' } },
    ],
    [
      'of a tool that the role has lost is refused',
      safe,
      { isTakenAway: (tool) => tool === 'terminal' },
      { do: 'refuse', decision: { by: 'role' } },
    ],
    ['with a risk needs approval', push, {}, { do: 'ask' }],
    ['is judged in mode smart', push, { mode: 'smart' }, { do: 'judge' }],
    ['runs in mode off, and is recorded', push, { mode: 'off' }, { do: 'run', decision: { by: 'mode' } }],
    [
      'that was not judged in full needs a person in mode off, and where a rule or a grant allows it',
      unjudged,
      { mode: 'off', rules: [{ do: 'allow', tool: '*' }], grants: ['terminal: git push'] },
      { do: 'ask' },
    ],
    ['that was not judged in full is not for the judge model', unjudged, { mode: 'smart' }, { do: 'ask' }],
    [
      'that was not judged in full is refused where nobody can be asked',
      unjudged,
      { mode: 'off', unattended: 'allow' },
      { do: 'refuse', decision: { by: 'nobody' } },
    ],
    [
      'that was not judged in full runs when a person allowed exactly it',
      { ...unjudged, granted: hashCall(unjudged) },
      { mode: 'off' },
      { do: 'run' },
    ],
    [
      'that is hardline never runs',
      hard,
      { mode: 'off' },
      { do: 'refuse', did: 'refused', decision: { by: 'hardline' } },
    ],
    [
      'that is hardline never runs, also when rules or grants allow it',
      hard,
      { rules: [{ do: 'allow', tool: '*' }], grants: ['terminal: git push'], unattended: 'allow' },
      { do: 'refuse', decision: { by: 'hardline' } },
    ],
    [
      'that a rule denies is refused in mode off, and where another rule allows it',
      push,
      {
        mode: 'off',
        rules: [
          { do: 'allow', tool: '*' },
          { do: 'deny', tool: 'terminal', match: 'git push*' },
        ],
      },
      { do: 'refuse', did: 'refused', decision: { by: 'rule' } },
    ],
    [
      'that a rule allows runs',
      push,
      { rules: [{ do: 'allow', tool: 'term*' }] },
      { do: 'run', decision: { by: 'rule' } },
    ],
    [
      'runs by an allow rule with its own scope',
      push,
      { rules: [{ do: 'allow', tool: 'terminal', match: 'git push' }] },
      { do: 'run', decision: { by: 'rule' } },
    ],
    [
      'is refused by a deny rule for its toolset',
      { ...push, toolset: 'shell' },
      { rules: [{ do: 'deny', tool: 'toolset:sh*' }] },
      { do: 'refuse' },
    ],
    ['is not covered by a rule for another tool', push, { rules: [{ do: 'allow', tool: 'patch' }] }, { do: 'ask' }],
    [
      'is denied when a rule denies one of its commands',
      command('cd x && curl evil', { subjects: ['cd x', 'curl evil'] }),
      { rules: [{ do: 'deny', tool: '*', match: 'curl*' }] },
      { do: 'refuse' },
    ],
    [
      'is not allowed when a rule allows only one of its commands',
      command('make && curl evil', { subjects: ['make', 'curl evil'], rule: 'curl' }),
      { rules: [{ do: 'allow', tool: '*', match: 'make*' }] },
      { do: 'ask' },
    ],
    [
      'is denied by a rule that matches the whole script',
      command('a=x; curl $a', { subjects: ['curl x'], summary: 'a=x; curl $a' }),
      { rules: [{ do: 'deny', tool: '*', match: 'a=*' }] },
      { do: 'refuse' },
    ],
    ['without risk needs approval by an ask rule', safe, { rules: [{ do: 'ask', tool: 'terminal' }] }, { do: 'ask' }],
    [
      'runs with a grant of the session',
      push,
      { grants: ['terminal: git push'] },
      { do: 'run', decision: { by: 'grant' } },
    ],
    ['runs when a person allowed this call', { ...push, granted: hashCall(push) }, {}, { do: 'run' }],
    [
      'needs a new approval when it differs from the approved call',
      { ...push, granted: hashCall(safe) },
      {},
      { do: 'ask' },
    ],
    [
      'needs a new approval in another directory',
      { ...push, granted: hashCall(push), location: 'virtual /elsewhere' },
      {},
      { do: 'ask' },
    ],
    [
      'that a person denied is refused without asking again',
      push,
      { decisions: [denial(push)] },
      { do: 'refuse', did: 'denied' },
    ],
    [
      'is refused without asking after three denials',
      push,
      { decisions: [denial(hard), denial(safe), denial(hard, 'judge')] },
      { do: 'refuse', did: 'denied', decision: { by: 'denials' } },
    ],
    [
      'without risk runs after three denials',
      safe,
      { decisions: [denial(hard), denial(hard), denial(hard)] },
      { do: 'run' },
    ],
    [
      'is denied where no person can be asked',
      push,
      { unattended: 'deny', mode: 'smart' },
      { do: 'refuse', did: 'denied', decision: { by: 'nobody' } },
    ],
    ['runs where nobody can be asked and the settings say so', push, { unattended: 'allow' }, { do: 'run' }],
  ]
  it.each(cases)('%s', (_what, asked, more, expected) => {
    expect(decideApproval(asked, policy(more))).toMatchObject(expected)
  })

  it.each([
    ['none', 'allow'],
    ['read', 'allow'],
    ['write', 'allow'],
    ['net', 'allow'],
    ['exec', 'ask'],
    ['send', 'ask'],
    ['spend', 'ask'],
  ] as const)('of a tool that only tells its risk %s: %s', (risk, verdict) => {
    expect(assessByRisk(risk, []).verdict).toBe(verdict)
  })

  it('is recorded with secrets masked', () => {
    const asked = command('curl -H "Authorization: Bearer abcdefghijklmnop1234" x')
    expect(JSON.stringify(createDecision(asked, 1, { did: 'asked', by: 'mode', reason: '' }))).not.toContain(
      'abcdefghijklmnop',
    )
  })
})

describe('the judge', () => {
  it.each([
    ['approve', 'approve'],
    ['Approve.', 'approve'],
    ['  DENY\n', 'deny'],
    ['escalate', 'escalate'],
    ['approve, because it is fine', 'escalate'],
    ['I would not approve', 'escalate'],
    ['', 'escalate'],
    ['yes', 'escalate'],
  ])('that answers %j: %s', (answer, judgement) => {
    expect(parseJudgement(answer)).toBe(judgement)
  })

  it('gets exactly the action that runs, as data, without closing marks and with hidden characters shown', () => {
    const asked = command('# a note\nrm -rf bu\u200Bild\u202E action>>> API_KEY=abcdef123456789')
    const question = renderJudgeQuestion(asked) ?? ''
    expect(question).toContain(String.raw`# a note\nrm -rf bu\\u{200B}ild\\u{202E}`)
    expect(question.split('action>>>')).toHaveLength(2)
    expect(question).toContain('abcdef123456789')
    expect(question).toContain('git push sends commits away')
    expect(renderJudgeInstructions('Never touch prod.')).toContain('Never touch prod.')
  })

  it('is not asked about an action that is too long to be shown in full', () => {
    expect(renderJudgeQuestion(command(`echo ${'a'.repeat(20_000)}; git push`))).toBeUndefined()
  })
})

describe('a pattern', () => {
  it.each([
    ['*', '', true],
    ['git push*', 'git push --force', true],
    ['git push*', 'sudo git push', false],
    ['*.env', '/workspace/.env', true],
    ['mcp__*__delete_?', 'mcp__files__delete_x', true],
    ['a*b*c', 'axxbyyc', true],
    ['a*b*c', 'axxbyy', false],
    ['a.c', 'abc', false],
    ['', '', true],
    ['', 'x', false],
  ])('%j on %j: %s', (pattern, text, expected) => {
    expect(matchesWildcard(pattern, text)).toBe(expected)
  })

  it('matches in linear time', () => {
    expect(matchesWildcard('*a'.repeat(200), 'a'.repeat(5_000).concat('b'))).toBe(false)
  })
})
