/** A static server of a folder, as the guide starts one. */
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'

const types: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript' }

export class Site implements Disposable {
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  /** @param answer returns the text for other paths; undefined: there is none */
  static async start(
    folder: string,
    answer: (path: string) => string | undefined = () => undefined,
  ): Promise<Site> {
    const server = createServer(({ url = '/' }, response) => {
      const text = answer(url)
      if (text !== undefined) return response.end(text)
      const path = new URL(url, 'http://site').pathname
      const file = join(folder, path === '/' ? 'index.html' : path)
      const type = types[extname(file)]
      if (type === undefined || !existsSync(file)) return response.writeHead(404).end()
      return response
        .writeHead(200, { 'content-type': `${type}; charset=utf-8` })
        .end(readFileSync(file))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Site(server)
  }

  /** An address of a secure context. */
  get url(): string {
    return `http://localhost:${(this.#server.address() as AddressInfo).port}/`
  }

  [Symbol.dispose](): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
