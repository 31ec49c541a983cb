import { describe, expect, it } from 'vitest'
import { createSpeechBindingCall, parseSpeechBinding, speechVendors } from '#backends/media/speech.ts'
import { splitSentences } from '#backends/media/split-sentences.ts'
import { estimateSeconds, joinSound } from '#backends/media/join-sound.ts'
import { ascii, mp3Bytes, opusBytes, wavBytes } from './fixtures.ts'

const access = { baseUrl: 'https://api.test', key: 'secret' }

describe('requests for speech', () => {
  it.each([
    {
      vendor: 'openai',
      request: { model: 'gpt-4o-mini-tts', text: 'Hello.', format: 'opus', instructions: 'calm' },
      url: 'https://api.test/audio/speech',
      headers: { authorization: 'Bearer secret' },
      body: {
        model: 'gpt-4o-mini-tts',
        input: 'Hello.',
        voice: 'alloy',
        response_format: 'opus',
        instructions: 'calm',
      },
    },
    {
      vendor: 'elevenlabs',
      request: { model: 'eleven_multilingual_v2', text: 'Hello.', voice: 'abc123', format: 'mp3' },
      url: 'https://api.test/v1/text-to-speech/abc123?output_format=mp3_44100_128',
      headers: { 'xi-api-key': 'secret' },
      body: { text: 'Hello.', model_id: 'eleven_multilingual_v2' },
    },
    {
      vendor: 'gemini',
      request: { model: 'gemini-3.8-flash-tts', text: 'Hello.', format: 'wav', instructions: 'Calm' },
      url: 'https://api.test/models/gemini-3.8-flash-tts:generateContent',
      headers: { 'x-goog-api-key': 'secret' },
      body: {
        contents: [{ role: 'user', parts: [{ text: 'Read aloud. Calm:\n\nHello.' }] }],
        generationConfig: {
          responseModalities: ['AUDIO'],
          speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
        },
      },
    },
    {
      vendor: 'mistral',
      request: { model: 'voxtral-mini-tts-2603', text: 'Hello.', format: 'mp3' },
      url: 'https://api.test/audio/speech',
      headers: { authorization: 'Bearer secret' },
      body: {
        model: 'voxtral-mini-tts-2603',
        input: 'Hello.',
        voice_id: 'en_paul_neutral',
        response_format: 'mp3',
        stream: false,
      },
    },
    {
      vendor: 'xai',
      request: { model: 'tts', text: 'Hello.', voice: 'ara', format: 'mp3', speed: 1.2 },
      url: 'https://api.test/tts',
      headers: { authorization: 'Bearer secret' },
      body: { text: 'Hello.', voice_id: 'ara', language: 'auto', speed: 1.2 },
    },
    {
      vendor: 'minimax',
      request: { model: 'speech-2.8-hd', text: 'Hello.', format: 'wav' },
      url: 'https://api.test/t2a_v2',
      headers: { authorization: 'Bearer secret' },
      body: {
        model: 'speech-2.8-hd',
        text: 'Hello.',
        stream: false,
        voice_setting: { voice_id: 'English_expressive_narrator', speed: 1 },
        audio_setting: { sample_rate: 32_000, bitrate: 128_000, format: 'wav', channel: 1 },
      },
    },
    {
      vendor: 'deepinfra',
      request: { model: 'hexgrad/Kokoro-82M', text: 'Hello.', format: 'mp3' },
      url: 'https://api.test/audio/speech',
      headers: { authorization: 'Bearer secret' },
      body: { model: 'hexgrad/Kokoro-82M', input: 'Hello.', voice: 'af_heart', response_format: 'mp3' },
    },
  ] as const)('are written for $vendor', ({ vendor, request, url, headers, body }) => {
    const sent = speechVendors[vendor].createRequest(request, access)
    expect(sent).toMatchObject({ url, method: 'POST', headers })
    expect(JSON.parse(sent.body as string)).toEqual(body)
  })

  it('refuses a voice that would change the address', () => {
    const request = { model: 'm', text: 'x', voice: '../../v1/user', format: 'mp3' } as const
    expect(() => speechVendors.elevenlabs.createRequest(request, access)).toThrow(/letters and digits/)
  })

  it.each([
    [
      { model: '@cf/deepgram/aura-1', text: 'Hi', voice: 'luna', format: 'mp3' },
      { text: 'Hi', encoding: 'mp3', speaker: 'luna' },
    ],
    [
      { model: '@cf/myshell-ai/melotts', text: 'Hi', voice: 'fr', format: 'mp3' },
      { prompt: 'Hi', lang: 'fr' },
    ],
  ] as const)('are written for the binding', (request, input) => {
    expect(createSpeechBindingCall(request).input).toEqual(input)
  })

  it('reads sound from an answer of the binding', () => {
    expect(parseSpeechBinding({ audio: btoa('abc') })).toEqual(ascii('abc'))
    expect(() => parseSpeechBinding({ errors: [] })).toThrow(/unexpected form/)
  })
})

describe('answers in JSON', () => {
  it.each([
    ['mistral', { audio_data: btoa('abc') }],
    ['minimax', { data: { audio: '616263', status: 2 }, base_resp: { status_code: 0, status_msg: 'success' } }],
  ] as const)('of %s become bytes', (vendor, answer) => {
    expect(speechVendors[vendor].parse?.(answer, 'mp3')).toEqual(ascii('abc'))
  })

  it.each([
    [{ base_resp: { status_code: 1004, status_msg: 'login fail' } }, /MiniMax: login fail/],
    [{ data: { audio: 'zz' }, base_resp: { status_code: 0, status_msg: '' } }, /not hexadecimal/],
    [{}, /unexpected form/],
  ])('of MiniMax that have no sound are failures: %j', (answer, words) => {
    expect(() => speechVendors.minimax.parse?.(answer, 'mp3')).toThrow(words)
  })
})

describe('an answer of Gemini', () => {
  const { parse } = speechVendors.gemini
  const answer = (...parts: object[]) => ({ candidates: [{ content: { parts } }] })
  const sound = (text: string, mimeType?: string) => ({ inlineData: { data: btoa(text), mimeType } })

  it('becomes a WAV file of the rate that it names, else of 24 kHz', () => {
    const file = parse?.(answer(sound('ab', 'audio/L16;codec=pcm;rate=16000'), sound('cd')), 'wav') ?? new Uint8Array()
    const view = new DataView(file.buffer)
    const header = [20, 22, 32, 34].map((at) => view.getUint16(at, true))
    expect([String.fromCharCode(...file.subarray(0, 4)), String.fromCharCode(...file.subarray(-12))]).toEqual([
      'RIFF',
      'data\u0004\0\0\0abcd',
    ])
    expect([header, view.getUint32(4, true), view.getUint32(24, true), view.getUint32(28, true)]).toEqual([
      [1, 1, 2, 16],
      file.length - 8,
      16_000,
      32_000,
    ])
    const usual = parse?.(answer(sound('a'.repeat(48_000))), 'wav') ?? new Uint8Array()
    expect(estimateSeconds(usual, 'audio/wav')).toBe(1)
    expect(parse?.(answer(sound('ab')), 'pcm')).toEqual(ascii('ab'))
  })

  it('without sound is a refusal with its words', () => {
    expect(() => parse?.(answer({ text: 'I cannot say that.' }), 'wav')).toThrow(/spoke nothing. I cannot say that/)
    expect(() => parse?.({ candidates: [{ finishReason: 'OTHER' }] }, 'wav')).toThrow(/spoke nothing/)
    expect(() => parse?.({ error: { message: 'quota' } }, 'wav')).toThrow(/Gemini: quota/)
  })
})

describe('splitSentences', () => {
  it('keeps a short text as one piece', () => {
    expect(splitSentences(' One. Two. ', 100)).toEqual(['One. Two.'])
  })

  it('ends pieces at paragraphs, then sentences, then words', () => {
    expect(splitSentences('First paragraph.\n\nSecond one here.', 25)).toEqual(['First paragraph.', 'Second one here.'])
    expect(splitSentences('One is here. Two is here. Three.', 28)).toEqual(['One is here. Two is here.', 'Three.'])
    expect(splitSentences('aaaa bbbb cccc dddd', 10)).toEqual(['aaaa bbbb', 'cccc dddd'])
    expect(splitSentences('今日は晴れ。明日は雨。', 7)).toEqual(['今日は晴れ。', '明日は雨。'])
  })

  it('loses no word and never exceeds the limit', () => {
    const text = Array.from({ length: 900 }, (_, at) => `word${at}${at % 9 ? '' : '.'}`).join(' ')
    const pieces = splitSentences(text, 500)
    expect(pieces.join(' ')).toBe(text)
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(500)
  })

  it('does not cut a character into halves', () => {
    expect(splitSentences('😀'.repeat(5), 3)).toEqual(Array.from({ length: 5 }, () => '😀'))
  })
})

it.each([
  [
    'Gemini',
    () =>
      speechVendors.gemini.parse?.({ candidates: [{ content: { parts: [{ inlineData: { data: '!' } }] } }] }, 'wav'),
  ],
  ['Workers AI', () => parseSpeechBinding({ audio: '!' })],
])('sound of %s that is no base64 is a failure of the vendor', (vendor, parse) => {
  const message = `${vendor} sent media that are not valid base64.`
  expect(parse).toThrow(expect.objectContaining({ kind: 'failed', message }))
})

describe('joinSound', () => {
  it('puts MP3 pieces one after the other, without the tags between them', () => {
    const tagged = new Uint8Array([...ascii('ID3\u0004\0\0\0\0\0\u0003tag'), ...mp3Bytes('two')])
    expect(joinSound([mp3Bytes('one'), tagged], 'audio/mpeg')).toEqual(
      new Uint8Array([...mp3Bytes('one'), ...mp3Bytes('two')]),
    )
  })

  it('joins WAV pieces to one with the right sizes', () => {
    const whole = joinSound([wavBytes('one'), wavBytes('two')], 'audio/wav')
    const view = new DataView(whole.buffer)
    expect(String.fromCharCode(...whole.subarray(-6))).toBe('onetwo')
    expect([view.getUint32(4, true), view.getUint32(40, true)]).toEqual([whole.length - 8, 6])
  })

  it('joins Opus pieces to one stream whose times and numbers go on', () => {
    const whole = joinSound([opusBytes(['one', 'two'], 7), opusBytes(['three'], 9)], 'audio/ogg')
    // The file that would have been made at once, with the same checksums.
    expect(whole).toEqual(opusBytes(['one', 'two', 'three'], 7))
  })

  it('refuses formats that cannot be joined, and pieces that are none', () => {
    expect(() => joinSound([ascii('a'), ascii('b')], 'audio/flac')).toThrow(/mp3, opus or wav/)
    expect(() => joinSound([opusBytes(['a']), ascii('<html>')], 'audio/ogg')).toThrow(/no Ogg file/)
    expect(() => joinSound([wavBytes('a'), ascii('RIFF')], 'audio/wav')).toThrow(/no WAV file/)
  })
})

describe('estimateSeconds', () => {
  it.each([
    ['WAV, exactly', wavBytes('x'.repeat(80), 8), 'audio/wav', 10],
    ['Opus, exactly', opusBytes(Array.from({ length: 100 }, () => 'x')), 'audio/ogg', 2],
    ['other formats by the lowest bit rate', new Uint8Array(20_000), 'audio/mpeg', 10],
    ['a damaged file by its bytes', new Uint8Array(4_000), 'audio/ogg', 2],
  ])('tells the length of %s', (_name, bytes, mime, seconds) => {
    expect(estimateSeconds(bytes, mime)).toBe(seconds)
  })
})
