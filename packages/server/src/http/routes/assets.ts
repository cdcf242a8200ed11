/** The family of static files below a prefix: pages and the files that they load. */
import { createHash } from 'node:crypto'
import { type Dirent, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { extname, join, relative, sep } from 'node:path'
import type { Responses } from '../responses.js'
import { type Methods, type Route, type RouteFamily, readingRoutes } from './router.js'

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

export interface AssetRoutesOptions {
  readonly responses: Responses
  /** @throws AppError to answer instead */
  admit(request: IncomingMessage): void
}

interface Asset {
  readonly bytes: Buffer
  readonly etag: string
}

/**
 * Serves the files of a folder, GET and HEAD. The folder is listed once and only listed files are
 * served, so that no path leads out of it. A file is read at its first request and kept in memory,
 * so the folder must be small.
 * @param prefix begins and ends with a slash
 */
export function assetRoutes(
  options: AssetRoutesOptions,
  prefix: string,
  folder: string,
): RouteFamily {
  const routes = new Map(
    filesBelow(folder).map((file): [string, Methods] => {
      const path = `${prefix}${relative(folder, file).split(sep).map(encodeURIComponent).join('/')}`
      const route = assetRoute(options, file)
      return [path, new Map(readingRoutes(path, route).map(([, method]) => [method, route]))]
    }),
  )
  return { below: { prefix, find: (path) => routes.get(path) ?? null } }
}

function filesBelow(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true })
  return entries.flatMap((entry: Dirent) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return filesBelow(path)
    // A link might lead anywhere.
    return entry.isFile() && !entry.name.startsWith('.') ? [path] : []
  })
}

function assetRoute({ responses, admit }: AssetRoutesOptions, file: string): Route {
  const contentType = contentTypes[extname(file)] ?? 'application/octet-stream'
  let asset: Promise<Asset> | undefined
  return async (request, response) => {
    admit(request)
    asset ??= readAsset(file).catch((error: unknown) => {
      // The next request tries again.
      asset = undefined
      throw error
    })
    const { bytes, etag } = await asset
    const isKnown = request.headers['if-none-match']?.split(/\s*,\s*/).includes(etag) ?? false
    // Clients revalidate each time and get the file only when it has changed, so that an upgrade is
    // visible at once.
    const headers = ['etag', etag, 'cache-control', 'no-cache', 'x-content-type-options', 'nosniff']
    if (!isKnown) headers.push('content-type', contentType)
    responses.write(request, response, {
      status: isKnown ? 304 : 200,
      isPublic: true,
      headers,
      body: isKnown ? '' : bytes,
    })
  }
}

async function readAsset(file: string): Promise<Asset> {
  const bytes = await readFile(file)
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` }
}
