import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { jsonContentType } from '@hermod/server/dist/http/responses.js'
import { type AssetRoutesOptions, assetRoutes } from '@hermod/server/dist/http/routes/assets.js'
import { pageRoutes } from '@hermod/server/dist/http/routes/pages.js'
import { type RouteFamily, readingRoutes } from '@hermod/server/dist/http/routes/router.js'

/** Everything loads from this server, and nothing else runs or loads. */
export const pagePolicy =
  "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

interface DemoPageOptions {
  /** The built page. */
  readonly folder: string
  /** The users and their tokens, as JSON; '' until they exist. */
  session(): string
}

/** Returns the page of the demo below /demo, and who its users are. */
export function demoRoutes(
  options: AssetRoutesOptions,
  { folder, session }: DemoPageOptions,
): readonly RouteFamily[] {
  const html = readFileSync(join(folder, 'index.html'))
  const page = {
    status: 200,
    contentType: 'text/html; charset=utf-8',
    body: html,
    contentPolicy: pagePolicy,
  }
  return [
    pageRoutes(options, { '/demo': async () => page }),
    { exact: sessionRoutes(options, session) },
    assetRoutes(options, '/demo/', folder),
  ]
}

/**
 * The tokens are for the page only: the answer has no CORS headers, and a request under another
 * name than that of this machine is refused, since DNS may resolve any name to 127.0.0.1.
 */
function sessionRoutes({ responses, admit }: AssetRoutesOptions, session: () => string) {
  return readingRoutes('/demo/session.json', async (request, response) => {
    admit(request)
    const body = isForThisMachine(request) ? session() : ''
    responses.write(request, response, {
      status: body === '' ? 403 : 200,
      headers: ['content-type', jsonContentType, 'cross-origin-resource-policy', 'same-origin'],
      body: body || '{}',
    })
  })
}

/** A page of another name that DNS resolves to 127.0.0.1 is not for this machine. */
export function isForThisMachine({ headers: { host = '' } }: IncomingMessage): boolean {
  return /^(?:127\.0\.0\.1|localhost):\d+$/.test(host)
}
