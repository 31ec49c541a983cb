/** What a scripted model answers to the example cases, so that they run without a provider. */

import type { Reply } from '../../test/kit/index.ts'

const call = (name: string, input: object): Reply => ({ calls: [{ name, input }] })
const say = (text: string): Reply => ({ text: [text] })

export const replies: Readonly<Record<string, readonly Reply[]>> = {
  'When is the launch?': [call('read_file', { path: 'minutes.md' }), say('It is on 14 April.')],
  'Write report.md': [
    call('read_file', { path: 'sales.csv' }),
    call('write_file', { path: 'report.md', content: 'Total: 250 EUR\n' }),
    say('Written.'),
  ],
  'Correct the spelling': [
    call('read_file', { path: 'letter.txt' }),
    call('patch', { mode: 'replace', path: 'letter.txt', old_string: 'recieve', new_string: 'receive' }),
    say('Corrected.'),
  ],
  'Delete the folder old': [call('terminal', { command: 'rm -rf old' }), say('It is still there: you have denied it.')],
  'How many lines': [call('terminal', { command: 'wc -l log.txt' }), say('It has 3 lines.')],
  'Do I need an umbrella': [call('get_weather', { city: 'Rome' }), say('No, the sky is clear.')],
  'Make an appointment': [
    call('find_free_time', { day: 'today' }),
    call('create_event', { time: '15:30', title: 'Review' }),
    say('It is at 15:30.'),
  ],
  'Draft a mail to Ann': [say('Dear Ann, I am ill today and stay at home. Kind regards')],
  'Pay the invoice': [
    call('clarify', { question: 'Which invoice?', choices: ['the first', 'the second'] }),
    say('I pay the second one.'),
  ],
  'Answer with JSON alone': [say('{"item":"blue chair","count":3}')],
  'Rubric:': [say('{"score":0.9,"reason":"Polite and short."}')],
}
