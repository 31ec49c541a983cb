/** Decides whether a model may see images: without a provider only the demo answers, which sees none. */

import type { Availability, ToolDeployment } from '#agent/core/vendor/tool-deployment.ts'

export const getVisionAvailability = ({ hasProvider }: ToolDeployment): Availability =>
  hasProvider()
    ? { by: 'model' }
    : { reason: 'Only demo/agent answers here, which sees no images. Set the key of a provider of models.' }
