/** Tests how the command line reads files of prompts. */

import { expect, it } from 'vitest'
import { parseCsv, parsePrompts } from '../../../cli/prompt-file.mjs'

it.each([
  ['a.jsonl', '"One."\n{"prompt":"Two.","id":7}\n\n', [{ prompt: 'One.' }, { prompt: 'Two.', id: '7' }]],
  [
    'a.csv',
    '\ufeffid,prompt\r\n1,"Say ""hi"", please"\r\n,Two\r\n',
    [{ prompt: 'Say "hi", please', id: '1' }, { prompt: 'Two' }],
  ],
  ['a.jsonl', '\ufeff"One."\r\n', [{ prompt: 'One.' }]],
  ['a.csv', '\ufeff"prompt"\nOne', [{ prompt: 'One' }]],
  ['a.csv', 'prompt,id\nSay "hi",7', [{ prompt: 'Say "hi"', id: '7' }]],
  ['a.csv', 'id;prompt\n1;One, two', [{ prompt: 'One, two', id: '1' }]],
  ['a.csv', 'id\tprompt\n1\t"One; ""two"""', [{ prompt: 'One; "two"', id: '1' }]],
  ['-', 'prompt\nOne', [{ prompt: 'One' }]],
  ['-', '{"prompt":"One."}', [{ prompt: 'One.' }]],
])('reads %s %j', (name, text, prompts) => {
  expect(parsePrompts(text, name)).toEqual(prompts)
})

it.each([
  ['a.jsonl', '{"prompt":', 'Line 1 is not valid JSON.'],
  ['a.jsonl', '{"text":"x"}', 'Prompt 1 of a.jsonl is empty.'],
  ['a.csv', 'text\nx', 'needs a column "prompt"'],
  ['a.csv', 'id,prompt\n1,One, two', 'Prompt 1 of a.csv has too many fields: a text with the separator needs quotes.'],
  ['a.csv', 'prompt\nOne\n"Two\nThree', 'Line 3 has a quote that is not closed'],
  ['a.csv', 'prompt\n"One" two', 'Line 2 has a quote that is not closed, or text behind one.'],
])('refuses %s %j', (name, text, message) => {
  expect(() => parsePrompts(text, name)).toThrow(message)
})

it('keeps line ends inside of quotes and leaves out empty lines', () => {
  expect(parseCsv('a,b\n"1\n2",3\n\n4,')).toEqual([
    ['a', 'b'],
    ['1\n2', '3'],
    ['4', ''],
  ])
})
