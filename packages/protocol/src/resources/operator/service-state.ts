import { serviceStates } from '../../enums.js'
import { instant, resource } from '../../resource.js'
import { type Static, stringEnum, text } from '../../schema.js'

/** Every node acts by it within a second. */
export const ServiceStatus = resource('ServiceStatus', 'What the service refuses at present.', {
  state: stringEnum(serviceStates, {
    description:
      'maintenance: reads work, writes answer 503; restored: operators and reads of Admin tokens work, all else answers 503',
  }),
  text: text('what callers read with 503'),
  since: instant('when it began; 0: the service serves'),
})
/** The state of the service. */
export type ServiceStatus = Static<typeof ServiceStatus>
