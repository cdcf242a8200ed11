import { drawMorning } from '../world/pictures.js'
import { readBack } from './scrolling.js'
import type { Stage } from './stage.js'
import { holdUploads } from './uploads.js'

/** A part of the scene. */
interface SceneStep {
  readonly text: string
  /** True: it takes more than a second. */
  readonly isSlow?: boolean
  /** @throws Error when the page does not show what is expected */
  play(stage: Stage): Promise<void>
}

/** The whole scene; each step begins where the one before has ended. */
export const steps: readonly SceneStep[] = [
  {
    text: 'Ada and Ben connect, and open their conversation.',
    async play({ ada, ben }) {
      await Promise.all([ada.seesConnection('online'), ben.seesConnection('online')])
      await ada.open('Ben')
      await ben.open('Ada')
      await ada.sees('Platform 4')
      await ada.side.locator('.picture[data-loaded="true"]').waitFor()
    },
  },
  {
    text: 'Ada sees that Ben is online, and has unread messages in two conversations.',
    async play({ ada }) {
      await ada.side.locator('.conversation-title', { hasText: 'online' }).waitFor()
      await ada.item('Dario').getByText('1 unread messages').waitFor()
      await ada.item('Lake hike').getByText('2 unread messages').waitFor()
    },
  },
  {
    text: 'Ada types, and Ben sees it.',
    async play({ ada, ben }) {
      await ada.type('I have the tickets')
      await ben.sees(/Ada is typing/)
    },
  },
  {
    text: 'Ada sends: Ben has it, and Ada sees that he has read it.',
    async play({ ada, ben }) {
      await ada.send('I have the tickets.')
      await ben.message('I have the tickets.').waitFor()
      await ada.seesStatus('I have the tickets.', 'read')
      await ben.send('You are the best.')
      await ada.message('You are the best.').waitFor()
    },
  },
  {
    text: 'Ben sends a picture: it is uploaded with progress, then both see it.',
    async play({ ada, ben, page }) {
      const upload = ben.side.locator('.upload').waitFor()
      const release = await holdUploads(page)
      await ben.sendPicture('morning.jpg', (await drawMorning()).bytes)
      await upload
      release()
      for (const { side } of [ada, ben])
        await side.locator('.picture[data-loaded="true"]').nth(1).waitFor()
    },
  },
  {
    text: 'Ada changes a message, Ben recalls one.',
    async play({ ada, ben }) {
      await ada.edit('I have the tickets.', 'I have the tickets, for the window.')
      await ben.sees('I have the tickets, for the window.')
      await ben.act('You are the best.', 'Recall')
      await ada.message('You are the best.').waitFor({ state: 'detached' })
    },
  },
  {
    text: 'Ben replies, and Ada reacts: both see the quote and the reaction.',
    async play({ ada, ben }) {
      await ben.act('for the window', 'Reply')
      await ben.send('You are the best. I bring the cups.')
      await ada.act('I bring the cups', 'React')
      await ada.press('React with 🎉')
      for (const actor of [ada, ben]) {
        const reply = actor.message('I bring the cups')
        await reply.getByRole('button', { name: /for the window/ }).waitFor()
        await reply.getByRole('button', { name: /🎉 1/ }).waitFor()
      }
    },
  },
  {
    text: 'The window with both users, while Ada types.',
    async play(stage) {
      const { ada, ben } = stage
      await ada.type('See you')
      await ben.sees(/Ada is typing/)
      await stage.shoot('two-users')
      await ada.clear()
    },
  },
  {
    text: 'Ada asks the assistant: it thinks, then writes, until she stops it.',
    async play(stage) {
      const { ada } = stage
      await ada.open('Assistant')
      await ada.send('What should we pack?')
      await ada.sees(/Assistant is thinking/)
      await ada.side.locator('[data-stream="open"]', { hasText: 'warm layer' }).waitFor()
      await stage.shoot('assistant')
      await ada.press('Stop')
      await ada.side.locator('[data-stream="cancelled"]', { hasText: 'stopped' }).waitFor()
    },
  },
  {
    text: 'Ada accepts a contact request.',
    async play({ ada }) {
      await ada.show('People')
      await ada.press('Accept')
      await ada.item('Cleo').waitFor()
    },
  },
  {
    text: 'Ada opens the group, which is read by that, and writes there.',
    async play({ ada, ben }) {
      await ada.open('Lake hike')
      await ada.item('Lake hike').getByText('unread').waitFor({ state: 'detached' })
      await ada.send('It is: the ferry goes at nine.')
      await ben.item('Lake hike').getByText('the ferry goes at nine').waitFor()
    },
  },
  {
    text: 'Ada makes a group, and pins it.',
    async play({ ada }) {
      await ada.press('New group')
      const dialog = ada.side.getByRole('dialog', { name: 'New group' })
      await dialog.getByRole('textbox').fill('Photos')
      await dialog.getByRole('checkbox', { name: 'Ben' }).check()
      await dialog.getByRole('button', { name: 'Create' }).click()
      await ada.side.getByRole('article', { name: 'Conversation with Photos' }).waitFor()
      await ada.press('Pin to the top')
      await ada.side.locator('[data-item]').first().getByText('Photos').waitFor()
    },
  },
  {
    text: 'Ada scrolls up: older messages come in above, and the place stays.',
    async play({ ada }) {
      await ada.open('Ben')
      await readBack(ada)
    },
  },
  {
    text: 'Ben goes offline and writes: the messages wait.',
    async play({ ada, ben }) {
      await ben.switchConnection()
      await ben.seesConnection('idle')
      await ben.send('The train has no network here.')
      await ben.send('You get this later.')
      await ada.send('Are you in the tunnel?')
      await ben.seesStatus('You get this later.', 'sending')
    },
  },
  { text: 'The window with Ben offline.', play: (stage) => stage.shoot('offline') },
  {
    text: 'Ten seconds later Ada sees that he is offline.',
    isSlow: true,
    async play({ ada }) {
      await ada.side.locator('.conversation-title', { hasText: 'offline' }).waitFor()
    },
  },
  {
    text: 'Ben is back: his messages go out in order, and he gets what he missed.',
    async play({ ada, ben }) {
      await ben.switchConnection()
      await ben.seesConnection('online')
      await ada.message('You get this later.').waitFor()
      await ben.message('Are you in the tunnel?').waitFor()
      await ben.seesStatus('You get this later.', 'read')
      await ada.side.locator('.conversation-title', { hasText: 'online' }).waitFor()
    },
  },
  { text: 'The window with Ben back.', play: (stage) => stage.shoot('back') },
  {
    text: 'Ben blocks Ada: her message fails. He unblocks her, and she sends it again.',
    async play({ ada, ben }) {
      await ben.press('Block')
      await ben.side.getByRole('button', { name: 'Unblock' }).waitFor()
      await ada.send('Do you bring the map?')
      await ada.seesStatus('Do you bring the map?', 'failed')
      await ben.press('Unblock')
      await ben.side.getByRole('button', { name: 'Block', exact: true }).waitFor()
      await ada.act('Do you bring the map?', 'Send again')
      await ben.message('Do you bring the map?').waitFor()
    },
  },
  {
    text: 'Ada uses the keyboard alone: Escape, arrow key, Enter, and a message.',
    async play({ ada, page }) {
      await ada.keys('Escape', 'Home', 'ArrowDown', 'Enter')
      await ada.side.locator('textarea:focus').waitFor()
      await page.keyboard.type('Sent without a mouse.')
      await ada.keys('Enter')
      await ada.message('Sent without a mouse.').waitFor()
    },
  },
  {
    text: 'The dark theme.',
    async play(stage) {
      await stage.page.getByRole('button', { name: 'Use the dark theme' }).click()
      await stage.ada.open('Ben')
      await stage.shoot('dark')
      await stage.page.getByRole('button', { name: 'Use the light theme' }).click()
    },
  },
  {
    text: 'A phone, 390 pixels wide: the list, then a conversation.',
    async play(stage) {
      await stage.setNarrow(true)
      await stage.shoot('mobile-conversation')
      await stage.ada.press('Back to the list')
      await stage.ada.item('Ben').waitFor()
      await stage.shoot('mobile-list')
      await stage.setNarrow(false)
    },
  },
]
