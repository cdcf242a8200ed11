import type { Locator, Page } from 'playwright-core'

/** One user: the half of the page, and what the user does there. */
export class DemoActor {
  readonly side: Locator
  readonly #page: Page

  constructor(page: Page, name: string) {
    this.#page = page
    this.side = page.getByRole('region', { name, exact: true })
  }

  /** The messages on screen, oldest first. */
  get messages(): Locator {
    return this.side.locator('[data-message]')
  }

  message(text: string): Locator {
    return this.messages.filter({ hasText: text })
  }

  /** An entry of the list. */
  item(title: string): Locator {
    const named = this.#page.locator('.item-title', { hasText: new RegExp(`^${title}$`) })
    return this.side.locator('[data-item]').filter({ has: named })
  }

  /** Opens a conversation of the list. */
  async open(title: string): Promise<void> {
    await this.show('Chats')
    await this.item(title).click()
    await this.side.getByRole('article', { name: `Conversation with ${title}` }).waitFor()
  }

  async show(tab: 'Chats' | 'People'): Promise<void> {
    await this.side.getByRole('button', { name: new RegExp(`^${tab}`) }).click()
  }

  async type(text: string): Promise<void> {
    await this.side.getByRole('textbox', { name: 'Message' }).pressSequentially(text)
  }

  /** Drops what was typed. */
  async clear(): Promise<void> {
    await this.side.getByRole('textbox', { name: 'Message' }).fill('')
  }

  async send(text: string): Promise<void> {
    const field = this.side.getByRole('textbox', { name: 'Message' })
    await field.fill(text)
    await field.press('Enter')
    await this.message(text).waitFor()
  }

  /** Waits until a text is on screen on this side. */
  async sees(text: string | RegExp): Promise<void> {
    await this.side.getByText(text).first().waitFor()
  }

  /** Waits until an own message has a status. */
  async seesStatus(text: string, status: string): Promise<void> {
    await this.side.locator(`[data-message][data-status="${status}"]`, { hasText: text }).waitFor()
  }

  /** Clicks an action of a message, not of a reply that quotes it. */
  async act(text: string, action: string): Promise<void> {
    const message = this.message(text).first()
    await message.hover()
    await message.getByRole('button', { name: action }).click()
  }

  /** Changes an own text. */
  async edit(text: string, changed: string): Promise<void> {
    await this.act(text, 'Edit')
    const field = this.side.getByRole('textbox', { name: 'Changed message' })
    await field.fill(changed)
    await field.press('Enter')
  }

  async press(button: string): Promise<void> {
    await this.side.getByRole('button', { name: button, exact: true }).click()
  }

  /** Uses the switch of the connection. */
  async switchConnection(): Promise<void> {
    await this.side.getByRole('switch').click()
  }

  async seesConnection(state: 'online' | 'idle'): Promise<void> {
    await this.side.locator(`.connection[data-state="${state}"]`).waitFor()
  }

  /** Sends a picture from a file. */
  async sendPicture(name: string, buffer: Buffer): Promise<void> {
    const input = this.side.locator('input[type="file"]')
    await input.setInputFiles({ name, mimeType: 'image/jpeg', buffer })
  }

  /** Presses keys one after another. */
  async keys(...keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.#page.keyboard.press(key)
  }
}
