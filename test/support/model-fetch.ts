/**
 * Plays all models of tests before any file does: the clients of the SDKs keep the `fetch` that they find first, and outlive
 * the file that creates them. Not setup files themselves: those are evaluated again for each test file.
 */

// What none of the others answers.
export { isOutside } from './outside-requests.ts'
export { model } from './scripted-model.ts'
export { provider } from '../durable/chaos/bytes.ts'
// The last one is asked first.
export { answerRequests } from './answered-requests.ts'
