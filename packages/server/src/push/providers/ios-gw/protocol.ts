import { defaultLimits, type GatewayProtocol, sendOneByOne } from '../runtime/protocol.js'
import { iosOutcome } from './answers.js'
import { iosAuth } from './auth.js'
import type { ConnectionCare } from './connection.js'
import { type IosCredentials, inspectIosCredentials, readIosCredentials } from './credentials.js'
import { iosOrigin, iosRequest } from './payload.js'
import { Http2Transport } from './transport.js'

const defaultCare: ConnectionCare = { pingAfterMs: 60_000, pingTimeoutMs: 10_000 }

/** Apple's push service, provider API over HTTP/2. */
export function iosProtocol(care: ConnectionCare = defaultCare): GatewayProtocol<IosCredentials> {
  return {
    channel: 'ios_gw',
    // The vendor publishes no rate for an app.
    limits: {
      ...defaultLimits,
      perSecond: 10_000,
      burst: 1_000,
      maxInFlight: 500,
      maxQueued: 20_000,
      maxConnections: 2,
    },
    guardsCommands: true,
    auth: iosAuth,
    readCredentials: readIosCredentials,
    inspect: inspectIosCredentials,
    probeToken: '00'.repeat(32),
    openTransport: (credentials, { certificate, limits, clock }) =>
      new Http2Transport({
        origin: iosOrigin(certificate),
        tls: {
          ...(certificate.endpoint?.ca === undefined ? {} : { ca: certificate.endpoint.ca }),
          ...(credentials.kind === 'certificate'
            ? { pfx: credentials.file.pfx, passphrase: credentials.file.passphrase }
            : {}),
          minVersion: 'TLSv1.2',
        },
        limits,
        care,
        clock,
      }),
    send: sendOneByOne(iosRequest, iosOutcome),
  }
}
