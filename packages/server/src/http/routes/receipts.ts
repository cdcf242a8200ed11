/** The family of addresses that push gateways send their receipts to; the last part of each is a secret. */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError } from '@hermod/protocol'
import type { Bodies } from '../../edge/bodies.js'
import { readBody } from '../bodies/read-body.js'
import { jsonContentType, type Responses } from '../responses.js'
import type { Methods, RouteFamily } from './router.js'

interface ReceiptRoutesOptions {
  readonly responses: Responses
  readonly bodies: Bodies
  /** @throws AppError to answer instead */
  admit(request: IncomingMessage): void
  /** Reports whether the service refuses receipts. */
  isRefusing(): boolean
  /** Finds the receiver of an address; null: there is no such address. */
  find(channel: string, secret: string): Promise<ReceiptHandler | null>
}

/**
 * @returns the answer of the gateway's own form; null: the request is not the gateway's
 * @throws AppError
 */
type ReceiptHandler = (request: {
  readonly body: string
  readonly signature: string
}) => Promise<string | null>

const prefix = '/push/receipts/'
const maxBodyBytes = 1_048_576

/** An unknown address and a request that is not the gateway's get the same answer. */
export function receiptRoutes(options: ReceiptRoutesOptions): RouteFamily {
  return {
    below: {
      prefix,
      find(path): Methods | null {
        const [channel = '', secret = '', ...others] = path.slice(prefix.length).split('/')
        if (channel === '' || secret === '' || others.length > 0) return null
        return new Map([
          ['POST', (request, response) => receive(options, { channel, secret }, request, response)],
        ])
      },
    },
  }
}

async function receive(
  options: ReceiptRoutesOptions,
  { channel, secret }: { readonly channel: string; readonly secret: string },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (options.isRefusing()) throw new AppError('unavailable')
  options.admit(request)
  const take = await options.find(channel, secret)
  if (take === null) throw new AppError('path_not_found')
  const bytes = await readBody(request, maxBodyBytes, options.bodies)
  const signature = String(request.headers['x-huawei-callback-id'] ?? '')
  const answer = await take({ body: bodyText(bytes), signature })
  if (answer === null) throw new AppError('path_not_found')
  const headers = ['content-type', jsonContentType]
  options.responses.write(request, response, { status: 200, headers, body: answer })
}

/** @throws AppError malformed_request */
function bodyText(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new AppError('malformed_request', 'the body is not UTF-8')
  return bytes.toString('utf8')
}
