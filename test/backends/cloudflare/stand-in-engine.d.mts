export class StandInEngine {
  readonly root: string
  readonly state: string
  readonly temporary: string
  running: boolean
  isAlive: boolean
  starts: number
  destroyed: number
  kills: number
  readonly isPaused: boolean
  onEnd: () => void
  start(): void
  spawn(command: string[], options: object): Promise<unknown>
  limitDisk(options: string): boolean
  processes(): string[]
  kill(options?: { isNoticed?: boolean }): void
  destroy(): Promise<void>
  pause(): void
  unpause(): void
  untilUnpaused(): Promise<void>
  setTimer(ms: number): void
  put(path: string, text: string): void
  inside(path: string): string
  has(path: string): boolean
  outside(name: string): string
  read(path: string): string
  drop(): void
}
