/** Files in a real browser: a page on another origin uploads with FormData and shows what came of it. */
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ServerProcess, type Session, startServer, testChromium } from '@hermod/testkit'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const executablePath = testChromium()
const html = readFileSync(new URL('../support/files/file-page.html', import.meta.url))

describe.runIf(executablePath !== null)('a page on another origin', () => {
  let server: ServerProcess
  let site: Server
  let browser: Browser
  let page: Page
  let alice: Session
  let bob: Session

  beforeAll(async () => {
    server = await startServer()
    ;[alice, bob] = [await server.api.newSession(), await server.api.newSession()]
    site = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html)
    })
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
    // Root has no sandbox of its own.
    const args = ['--no-sandbox', '--disable-dev-shm-usage']
    browser = await chromium.launch({ executablePath: executablePath ?? '', args })
  })

  afterAll(async () => {
    await browser?.close()
    site?.close()
    await server?.[Symbol.asyncDispose]()
  })

  beforeEach(async () => {
    page = await browser.newPage()
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`)
  })

  /** Calls a function of the page. */
  function call(name: string, ...args: unknown[]): Promise<unknown> {
    return page.evaluate(`${name}(...${JSON.stringify(args)})`)
  }

  /** Uploads from the page as a client would. @returns where Bob finds it */
  async function upload(file: PageFile, fileType: number): Promise<string> {
    const query = { file_type: fileType, to_id: bob.id, to_type: 1 }
    const { data } = await alice.api.succeed('GET', '/file/upload/chat', { query })
    expect(await call('sendForm', data, file)).toMatchObject({ data: true })
    return `${data.download_url}&access-token=${bob.token}&app_id=${server.appId}`
  }

  it('uploads a picture and shows it', async () => {
    const url = await upload(drawing, 102)
    expect(await call('showPicture', url, null)).toEqual([300, 200])
    // The browser has it now as it was fetched without an origin; a script of the page may read it
    // all the same.
    expect(await call('readPixel', url)).toEqual([255, 0, 0, 255])
    const small = `${url}&image_type=2`
    expect(await call('showPicture', small, 'anonymous')).toEqual([200, 133])
  })

  it('reads a part of a file, and what the answer says about it', async () => {
    const url = await upload({ kind: 'text', text: 'abcdefghij', type: 'text/plain' }, 100)
    expect(await call('fetchPart', url, 'bytes=2-4')).toEqual({
      status: 206,
      text: 'cde',
      range: 'bytes 2-4/10',
      disposition: 'attachment; filename=file.txt',
    })
  })

  it('cannot be made to run what somebody has uploaded', async () => {
    const text = '<script>parent.postMessage("ran", "*")</script><h1>page</h1>'
    const url = await upload({ kind: 'text', text, type: 'text/html' }, 100)
    const download = page.waitForEvent('download')
    await call('openFrame', url)
    expect((await download).suggestedFilename()).toBe('file.txt')
    expect(await page.evaluate('hasRun')).toBe(false)
  })
})

/** What the page makes a file of. */
type PageFile =
  | { readonly kind: 'drawing' }
  | { readonly kind: 'text'; readonly text: string; readonly type: string }

/** 300 by 200 red pixels. */
const drawing: PageFile = { kind: 'drawing' }
