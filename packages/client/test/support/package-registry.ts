/** A registry on this machine with the packages of the checkout, for `npm install` as a guide has it. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { TempFolder } from '@hermod/testkit'

const run = promisify(execFile)
const packages = join(import.meta.dirname, '../../..')

interface Packed {
  readonly manifest: { readonly name: string; readonly version: string }
  readonly tarball: Buffer
}

export class PackageRegistry implements Disposable {
  private constructor(
    readonly server: Server,
    readonly url: string,
  ) {}

  /** @param names folders of `packages/`, packed as npm ships them */
  static async start(names: readonly string[]): Promise<PackageRegistry> {
    const packed = new Map<string, Packed>(
      await Promise.all(
        names.map(async (name) => [`@hermod/${name}`, await pack(join(packages, name))] as const),
      ),
    )
    const server = createServer(({ url: path = '', headers }, response) => {
      const [name = '', file] = decodeURIComponent(path.slice(1)).split('/-/')
      const found = packed.get(name)
      if (!found) return response.writeHead(404).end('{}')
      const { manifest, tarball } = found
      if (file !== undefined) return response.end(tarball)
      const shasum = createHash('sha1').update(tarball).digest('hex')
      const dist = { tarball: `http://${headers.host}/${name}/-/package.tgz`, shasum }
      const { version } = manifest
      const versions = { [version]: { ...manifest, dist } }
      response.end(JSON.stringify({ name, 'dist-tags': { latest: version }, versions }))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new PackageRegistry(
      server,
      `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    )
  }

  [Symbol.dispose](): void {
    this.server.closeAllConnections()
    this.server.close()
  }
}

async function pack(folder: string): Promise<Packed> {
  using target = new TempFolder('packed')
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', target.path]
  const { stdout } = await run('npm', args, { cwd: folder })
  const [{ filename }] = JSON.parse(stdout)
  return {
    manifest: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')),
    tarball: readFileSync(join(target.path, filename)),
  }
}
