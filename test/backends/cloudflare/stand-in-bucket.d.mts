export class StandInBucket {
  readonly objects: Map<string, Uint8Array>
  isDown: boolean
  readonly broken: Set<string>
  areAllBroken: boolean
  isStuck: boolean
}
