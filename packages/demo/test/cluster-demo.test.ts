/** `hermod demo --cluster` in a real browser: nodes are killed while both sides write. */
import { chmodSync, readdirSync } from 'node:fs'
import {
  Child,
  findPostgres,
  isFullRun,
  PostgresCluster,
  TempFolder,
  testChromium,
  waitFor,
} from '@hermod/testkit'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hermodEnvironment, hermodScript } from '../../server/test/support/hermod-command.js'
import { startClusterDemo } from '../dist/cluster/cluster-demo.js'
import type { RunningDemo } from '../dist/demo.js'
import type { DemoActor } from '../dist/scene/actor.js'
import { Stage } from '../dist/scene/stage.js'
import { focusText, tabTo, violations } from '../../server/test/support/page-checks.js'

const executablePath = testChromium()
const isWanted = isFullRun && findPostgres() !== null

it('names the database that it cannot reach', async () => {
  const databaseUrl = 'postgres://127.0.0.1:1/none'
  await expect(startClusterDemo({ port: 0, databaseUrl })).rejects.toThrow('127.0.0.1:1')
})

if (isWanted && executablePath !== null)
  describe('the page of the demo with nodes', () => {
    let demo: RunningDemo
    let browser: Browser
    let stage: Stage
    const reported: string[] = []

    beforeAll(async () => {
      const args = ['--no-sandbox', '--disable-dev-shm-usage']
      browser = await chromium.launch({ executablePath: executablePath ?? '', args })
      demo = await startClusterDemo({ port: 0, report: (text) => reported.push(text) })
      stage = await Stage.open(browser, demo.url, undefined)
    }, 120_000)

    afterAll(async () => {
      await browser?.close()
      await demo?.stop()
    })

    it('has each side on a node of its own', async () => {
      await stage.ada.sees('On node 1')
      await stage.ben.sees('On node 2')
    })

    it('lets no page of another origin kill a node', async () => {
      const headers = { origin: 'https://example.org' }
      const { status } = await fetch(`${demo.url}/nodes/0/kill`, { method: 'POST', headers })
      expect(status).toBe(404)
      const { nodes } = (await (await fetch(`${demo.url}/nodes`)).json()) as { nodes: string[] }
      expect(nodes).toEqual(['running', 'running', 'running'])
    })

    it('loses no message and shows none twice while the nodes of both sides are killed', async () => {
      const { ada, ben } = stage
      await ada.open('Ben')
      await ben.open('Ada')
      const sent: string[] = []
      const write = async (actor: DemoActor, name: string) => {
        sent.push(`Message ${sent.length} of ${name}.`)
        await actor.send(sent.at(-1) as string)
      }
      for (let round = 0; round < 15; round++) {
        if (round === 4) await ben.press('Kill node 2')
        if (round === 9) await ada.press('Kill node 1')
        await write(ada, 'Ada')
        await write(ben, 'Ben')
      }
      for (const actor of [ada, ben]) await actor.seesConnection('online')
      for (const text of sent)
        for (const { side } of [ada, ben])
          await side
            .locator('[data-message]:not([data-status="sending"])', { hasText: text })
            .waitFor()
      for (const actor of [ada, ben]) {
        const texts = await actor.messages.allInnerTexts()
        const counts = sent.map((text) => texts.filter((each) => each.includes(text)).length)
        expect(counts).toEqual(sent.map(() => 1))
      }
      expect(reported.slice(2, 4)).toEqual(['node 2 was killed', 'Ben is connected to node 3'])
    })

    it('starts killed nodes again', async () => {
      await stage.ben.press('Start node 2')
      await stage.ada.press('Start node 1')
      for (const actor of [stage.ada, stage.ben])
        for (const name of [/Start node/, /starts …/])
          await actor.side.getByRole('button', { name }).first().waitFor({ state: 'detached' })
    })

    it('has nothing that axe finds in light and dark and at 390 pixels, and works by keyboard', async () => {
      const { ada, page } = stage
      await page.evaluate('document.activeElement.blur()')
      await tabTo(page, '.kill')
      const killed = await focusText(page)
      await ada.keys('Enter')
      await ada.side.getByRole('button', { name: killed.replace('Kill', 'Start') }).waitFor()
      await ada.seesConnection('online')
      expect(await focusText(page)).toMatch(/^Kill node/)
      const found = [await violations(page)]
      await page.getByRole('button', { name: 'Use the dark theme' }).click()
      found.push(await violations(page))
      await stage.setNarrow(true)
      found.push(await violations(page))
      expect(found.flat()).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    })
  })

if (isWanted)
  describe('hermod demo --cluster', () => {
    it('ends at Ctrl+C without an error and leaves nothing', async () => {
      using folder = new TempFolder('demo-cluster-end')
      // PostgreSQL runs as another user than root.
      chmodSync(folder.path, 0o755)
      const line = [process.execPath, hermodScript, 'demo', '--cluster', '--port', '0'] as const
      const child = new Child(line, { env: hermodEnvironment({ TMPDIR: folder.path }) })
      const isStarted = () => child.output().includes('The sides are on different nodes.')
      await waitFor(isStarted, { what: 'the start of the demo', timeoutMs: 60_000 })
      child.signal('SIGINT')
      expect(await child.exited).toMatchObject({ code: 0 })
      expect(readdirSync(folder.path)).toEqual([])
    }, 90_000)
    it('refuses a database that has tables', async () => {
      await using cluster = await PostgresCluster.start()
      const { url } = await cluster.createDatabase()
      const demo = await startClusterDemo({ port: 0, databaseUrl: url })
      await demo.stop()
      await expect(startClusterDemo({ port: 0, databaseUrl: url })).rejects.toThrow(
        'the database of --database is not empty',
      )
    })
  })
