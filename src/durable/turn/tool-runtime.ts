/** Provides the tools of one session: what they use, which of them a turn has, and the batches of their calls. */

import { SessionServices, type ToolRuntimeOptions } from './session-services.ts'
import { SessionToolbox } from './session-toolbox.ts'
import { ToolBatches } from './tool-batches.ts'

/** Only wires: `services` opens, `toolbox` chooses, `batches` runs. */
export class ToolRuntime {
  readonly #services: SessionServices
  readonly #toolbox: SessionToolbox
  readonly #batches: ToolBatches

  constructor(options: ToolRuntimeOptions) {
    this.#services = new SessionServices(options, () => this.#toolbox.last())
    this.#toolbox = new SessionToolbox(options, this.#services)
    this.#batches = new ToolBatches(options, this.#services, this.#toolbox)
  }

  get backend(): SessionServices['backend'] {
    return this.#services.backend
  }

  get fileMarks(): SessionServices['fileMarks'] {
    return this.#services.fileMarks
  }

  /** The policy that judges commands. */
  get place(): Pick<SessionServices['all'], 'backend' | 'shell'> {
    return this.#services.all
  }

  get processes(): SessionServices['processes'] {
    return this.#services.processes
  }

  get skills(): SessionServices['skills'] {
    return this.#services.skills
  }

  get documents(): SessionServices['all']['documents'] {
    return this.#services.all.documents
  }

  /** Asks a model beside the conversation. */
  get model(): SessionServices['all']['model'] {
    return this.#services.all.model
  }

  get paidMedia(): SessionServices['paidMedia'] {
    return this.#services.paidMedia
  }

  get browser(): SessionServices['browser'] {
    return this.#services.browser
  }

  toolbox(...given: Parameters<SessionToolbox['tools']>): ReturnType<SessionToolbox['tools']> {
    return this.#toolbox.tools(...given)
  }

  offers(...given: Parameters<SessionToolbox['offers']>): boolean {
    return this.#toolbox.offers(...given)
  }

  schemas(...given: Parameters<SessionToolbox['schemas']>): ReturnType<SessionToolbox['schemas']> {
    return this.#toolbox.schemas(...given)
  }

  together(...given: Parameters<ToolBatches['together']>): ReturnType<ToolBatches['together']> {
    return this.#batches.together(...given)
  }

  marks(...given: Parameters<ToolBatches['marks']>): ReturnType<ToolBatches['marks']> {
    return this.#batches.marks(...given)
  }

  run(...given: Parameters<ToolBatches['run']>): ReturnType<ToolBatches['run']> {
    return this.#batches.run(...given)
  }

  receiveResults(...given: Parameters<ToolBatches['receiveResults']>): ReturnType<ToolBatches['receiveResults']> {
    return this.#batches.receiveResults(...given)
  }

  spill(...given: Parameters<SessionServices['spill']>): ReturnType<SessionServices['spill']> {
    return this.#services.spill(...given)
  }

  removeFiles(): Promise<void> {
    return this.#services.removeFiles()
  }
}
