/** Tests what the screens of batches and evaluations read: prompts, outcomes, and files of results. */

import { describe, expect, it } from 'vitest'
import { nameOfCase, outcomeOf, readResults } from '../../web/model/evaluation.ts'
import { readPrompts } from '../../web/model/prompts-of-batch.ts'

describe('the prompts of a batch', () => {
  it.each([
    ['one\n\n two \n', [{ prompt: 'one' }, { prompt: 'two' }]],
    ['"a \\"text\\""\n{"prompt": "b", "id": 7}', [{ prompt: 'a "text"' }, { prompt: 'b', id: '7' }]],
    ['"He said" is how it begins', [{ prompt: '"He said" is how it begins' }]],
    ['{"other": 1}', [{ prompt: '{"other": 1}' }]],
    ['', []],
  ])('of %j are %j', (text, prompts) => expect(readPrompts(text)).toEqual(prompts))

  it('come from a column of CSV', () => {
    const text = 'id;Prompt\nr1;"Good; morning"\nr2;\n;Evening'
    expect(readPrompts(text, true)).toEqual([{ prompt: 'Good; morning', id: 'r1' }, { prompt: 'Evening' }])
    expect(readPrompts('a,b\n1,2', true)).toEqual([])
  })
})

describe('an evaluation', () => {
  it('has the outcome of its tags, and the name of its case', () => {
    expect(outcomeOf(['eval', 'eval-passed'])).toBe('passed')
    expect(outcomeOf(['eval', 'eval-failed'])).toBe('failed')
    expect(outcomeOf(['eval'])).toBe('open')
    expect(nameOfCase('eval: asks first')).toBe('asks first')
  })

  it('is read from a report, with the reasons and the sessions of its runs', () => {
    const failures = [{ assertion: 'asked', reason: 'It did not ask.' }]
    const runs = [
      { failures, warnings: [], cost: 0.25, session: 'ses_1' },
      { failures, warnings: [], cost: 0.5, session: 'ses_2' },
    ]
    const report = { results: [{ name: 'asks', model: 'openai/x', passed: false, rate: 0.5, runs }] }
    expect(readResults(JSON.stringify(report))).toEqual([
      {
        name: 'asks',
        model: 'openai/x',
        passed: false,
        rate: 0.5,
        cost: 0.75,
        reasons: ['asked: It did not ask.'],
        sessions: ['ses_1', 'ses_2'],
      },
    ])
  })

  it('is read from a record for the next comparison', () => {
    expect(readResults('{"asks · openai/x": {"passed": true, "rate": 1}}')).toMatchObject([
      { name: 'asks · openai/x', passed: true, rate: 1, cost: undefined, reasons: [] },
    ])
  })

  it.each(['', 'no JSON', '[]', '{}', '{"a": 1}', '{"name": {"other": true}}'])(
    'is not read from another file: %j',
    (text) => expect(readResults(text)).toBeUndefined(),
  )
})
