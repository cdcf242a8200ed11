/** Messages on the page of `hermod demo`: replies, reactions, pins, streams and changes. */
import { isFullRun, testChromium } from '@hermod/testkit'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningDemo, startDemo } from '../dist/demo.js'
import { readBack } from '../dist/scene/scrolling.js'
import { Stage } from '../dist/scene/stage.js'
import { focusText, violations } from '../../server/test/support/page-checks.js'

const executablePath = testChromium()

describe.runIf(executablePath !== null)('messages on the page of the demo', () => {
  let demo: RunningDemo
  let browser: Browser
  let stage: Stage

  beforeAll(async () => {
    const args = ['--no-sandbox', '--disable-dev-shm-usage']
    browser = await chromium.launch({ executablePath: executablePath ?? '', args })
    demo = await startDemo({ port: 0 })
    stage = await Stage.open(browser, demo.url, undefined)
  })

  afterAll(async () => {
    await browser?.close()
    await demo?.stop()
  })

  it('have a line above those that were unread when the conversation was opened', async () => {
    const { ada } = stage
    await ada.open('Lake hike')
    const line = ada.side.getByText('New messages')
    await line.waitFor()
    expect(await ada.side.locator('.first-unread + li').textContent()).toContain('I bring a cake.')
    await ada.open('Dario')
    await ada.open('Lake hike')
    await ada.message('I bring a cake.').waitFor()
    expect(await line.count()).toBe(0)
  })

  it('show the original of a reply, which Enter goes to', async () => {
    const { ada, ben, page } = stage
    await ada.open('Ben')
    await ben.open('Ada')
    await ada.act('Found it!', 'Reply')
    await ada.send('Which lens was that?')
    await ben
      .message('Which lens was that?')
      .getByRole('button', { name: /Found it!/ })
      .focus()
    await ben.keys('Enter')
    await ben.side.locator('[data-marked="true"]', { hasText: 'Found it!' }).waitFor()
    expect(await focusText(page)).toContain('Found it!')
  })

  it('show of a recalled original that it was recalled', async () => {
    const { ada, ben } = stage
    await ben.send('Only for a moment')
    await ada.act('Only for a moment', 'Reply')
    await ada.send('What was that?')
    await ada
      .message('What was that?')
      .getByRole('button', { name: /moment/ })
      .waitFor()
    await ben
      .message('What was that?')
      .getByRole('button', { name: /moment/ })
      .waitFor()
    await ben.act('Only for a moment', 'Recall')
    for (const actor of [ada, ben])
      await actor.message('What was that?').getByText('This message was recalled.').waitFor()
  })

  it('get reactions by the keyboard, name their users, and lose them by the same button', async () => {
    const { ada, ben } = stage
    await ben.send('Shall we go?')
    await ada.act('Shall we go?', 'React')
    await ada.side.locator('[aria-label="React with 👍"]:focus').waitFor()
    await ada.keys('Enter')
    const message = ben.message('Shall we go?')
    await message.getByRole('button', { name: '👍 1 Ada', pressed: false }).click()
    await message.getByRole('button', { name: '👍 2 Ada, you', pressed: true }).click()
    await ada.message('Shall we go?').getByRole('button', { name: '👍 1 you' }).click()
    for (const actor of [ada, ben])
      await actor.message('Shall we go?').locator('.reaction').waitFor({ state: 'detached' })
  })

  it('are pinned for both users, and are found again when they are not loaded', async () => {
    const { ada, ben, page } = stage
    await readBack(ada)
    await readBack(ada)
    const id = await ada.messages.first().getAttribute('data-id')
    // The first one changes while more are loaded.
    const found = ada.side.locator(`[data-id="${id}"]`)
    await found.hover()
    await found.getByRole('button', { name: 'Pin message' }).click()
    await ben.side.getByRole('button', { name: 'Show all 2' }).waitFor()
    await page.reload()
    await ada.open('Ben')
    await ada.side.getByRole('button', { name: 'Show all 2' }).waitFor()
    expect(await found.count()).toBe(0)
    const bar = ada.side.getByRole('list', { name: 'Pinned messages' })
    await bar.getByRole('button').click()
    await ada.side.locator(`[data-id="${id}"][data-marked="true"]:focus`).waitFor()
    await ada.press('To the newest message')
    await ada.message('Shall we go?').waitFor()
  })

  it('of the assistant grow, and end when the user stops them', async () => {
    const { ada } = stage
    await ada.open('Assistant')
    await ada.send('What should we pack?')
    await ada.sees(/Assistant is thinking/)
    await ada.side.locator('[data-stream="open"]', { hasText: 'For a day' }).waitFor()
    await ada.press('Stop')
    const stopped = ada.side.locator('[data-stream="cancelled"]', { hasText: 'stopped' })
    await stopped.waitFor()
    expect(await stopped.textContent()).toMatch(/^For a day(?!.*(?:cake|edited))/s)
  })

  it('show an edit that waits, and the present text when another edit came first', async () => {
    const { ada, ben } = stage
    await ada.open('Ben')
    await ben.open('Ada')
    await ben.send('We meet at nine')
    await ben.seesStatus('We meet at nine', 'read')
    await ben.switchConnection()
    await ben.edit('We meet at nine', 'We meet at ten')
    await ben.message('We meet at ten').getByText('edit waits').waitFor()
    await editElsewhere(demo.url, Number(await ben.messages.last().getAttribute('data-id')))
    await ada.message('We meet at noon').waitFor()
    await ben.switchConnection()
    await ben.message('We meet at noon').getByText('Changed elsewhere').waitFor()
    await ben.message('We meet at ten').getByRole('button', { name: 'Use mine' }).click()
    await ada.message('We meet at ten').waitFor()
    await ben.message('Changed elsewhere').waitFor({ state: 'detached' })
  })

  it('have nothing that axe finds, and fit into 390 pixels', async () => {
    const { ada, page } = stage
    await stage.setNarrow(true)
    await ada.act('Shall we go?', 'Reply')
    await ada.act('Shall we go?', 'React')
    const found = isFullRun ? [await violations(page)] : []
    await page.getByRole('button', { name: 'Use the dark theme' }).click()
    await ada.act('Shall we go?', 'React')
    found.push(await violations(page))
    expect(found.flat()).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    expect(await ada.side.locator('.messages').evaluate(overflow)).toBe(0)
  })
})

function overflow({ scrollWidth, clientWidth }: { scrollWidth: number; clientWidth: number }) {
  return scrollWidth - clientWidth
}

/** Edits a message of Ben to Ada, as another device of his does. */
async function editElsewhere(demoUrl: string, messageId: number): Promise<void> {
  const { appId, users } = (await (await fetch(`${demoUrl}/session.json`)).json()) as {
    appId: string
    users: { userId: number; token: string }[]
  }
  const [ada, ben] = users
  const edit = { content_type: 12, related_mid: messageId, content: 'We meet at noon' }
  const response = await fetch(new URL('/message/send', demoUrl), {
    method: 'POST',
    headers: {
      app_id: appId,
      'access-token': ben?.token ?? '',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ type: 1, targets: [ada?.userId], ...edit }),
  })
  expect(await response.json()).toMatchObject({ code: 200 })
}
