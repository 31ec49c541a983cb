export class StandInBucket {
  readonly objects: Map<string, Uint8Array>
  isDown: boolean
  isStuck: boolean
}
