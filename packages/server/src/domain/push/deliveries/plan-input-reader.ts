import type { Int64 } from '@hermod/protocol'
import type { Clock } from '../../../lib/clock.js'
import { definedOnly } from '../../../lib/defined-only.js'
import type { CoreChannel } from '../../../push/core-channel.js'
import type { AppService } from '../../apps/app-service.js'
import type { KnownCertificates } from '../certificates/certificate-model.js'
import type { PlanInputs } from './plan-deliveries.js'

interface PlanInputReaderOptions {
  readonly apps: AppService
  readonly certificates: KnownCertificates
  readonly core: Pick<CoreChannel, 'connected' | 'probe'>
  readonly clock: Clock
}

/** Reads the inputs of a plan that are not stored with the users. */
export class PlanInputReader {
  constructor(private readonly options: PlanInputReaderOptions) {}

  /**
   * Reads the inputs for some users.
   * @param probes true for messages: connected devices are pinged
   */
  async read(appId: string, userIds: readonly Int64[], probes: boolean): Promise<PlanInputs> {
    const { apps, certificates, core, clock } = this.options
    const [entries, connected, app] = await Promise.all([
      certificates.of(appId),
      probes ? core.probe(appId, userIds) : core.connected(appId, userIds),
      apps.get(appId),
    ])
    return {
      certificates: entries.map(({ certificateId, name, gateway: { channel, pushType } }) => ({
        certificateId,
        name,
        gateway: definedOnly({ channel, pushType }),
      })),
      connected,
      timeZone: app.settings.time_zone,
      now: clock.now(),
    }
  }
}
