/** Keeps the microphone open while the voice mode is on, and measures how loud it is. */

import { openMicrophone as openStream } from '../composer/recorder.ts'

export type Microphone = {
  readonly stream: MediaStream
  /** Calls the listener 20 times a second, until the returned function is called. */
  readonly watch: (onLevel: (level: number, ms: number) => void) => () => void
  readonly close: () => void
}

const everyMs = 50

export async function openMicrophone(): Promise<Microphone> {
  const stream = await openStream()
  const context = new AudioContext()
  const analyser = context.createAnalyser()
  context.createMediaStreamSource(stream).connect(analyser)
  await context.resume()
  const samples = new Float32Array(analyser.fftSize)
  const measure = (): number => {
    analyser.getFloatTimeDomainData(samples)
    return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length)
  }
  return {
    stream,
    watch: (onLevel) => {
      let last = performance.now()
      const timer = setInterval(() => {
        const now = performance.now()
        onLevel(measure(), now - last)
        last = now
      }, everyMs)
      return () => clearInterval(timer)
    },
    close: () => {
      for (const track of stream.getTracks()) track.stop()
      void context.close()
    },
  }
}
