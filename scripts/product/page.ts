/** The web product as a person uses it: what they click and type, and what they read. */
import type { Browser, Locator, Page } from 'playwright-core';

/** How long a person waits for anything, in milliseconds. */
const PATIENCE = 20_000;

/** The conversation that is open in a browser. */
export class Conversation {
  private readonly page: Page;

  private constructor(page: Page) {
    this.page = page;
  }

  /** Opens the product. */
  static async open(browser: Browser, url: string): Promise<Conversation> {
    const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
    page.setDefaultTimeout(PATIENCE);
    // Shown once, to every new user.
    const notice = page.getByRole('dialog', { name: 'Internal Testing Notice' });
    await page.addLocatorHandler(notice, () => notice.getByRole('button', { name: 'Continue' }).click());
    await page.goto(url);
    return new Conversation(page);
  }

  /** Chooses the folder to work in, on the first page of a new user. */
  async chooseWorkspace(folder: string): Promise<void> {
    await this.page.getByRole('button', { name: 'Choose workspace' }).click();
    const dialog = this.page.getByRole('dialog', { name: 'Select Workspace Directory' });
    await dialog.getByRole('button', { name: 'Edit path' }).click();
    await dialog.getByRole('textbox').fill(folder);
    await dialog.getByRole('textbox').press('Enter');
    await dialog.getByRole('button', { name: 'Open', exact: true }).click();
    await this.page.getByRole('textbox', { name: 'Describe what you want to build' }).waitFor();
  }

  /** Sends a message and waits until this answer to it is shown. */
  async say(text: string, answer: string): Promise<void> {
    const shown = this.page.getByRole('paragraph').filter({ hasText: answer });
    const before = await shown.count();
    await this.page.getByRole('textbox', { name: /Describe what you want to build|Message the agent/ }).fill(text);
    await this.page.getByRole('button', { name: 'Send message' }).click();
    await shown.nth(before).waitFor();
  }

  /** Waits until this is shown. */
  async sees(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).first().waitFor();
  }

  /** Everything that is shown. */
  async text(): Promise<string> {
    return this.page.locator('body').innerText();
  }

  /** What the list of subagents says of each, in its order. */
  async subagents(): Promise<string[]> {
    const list = this.page.getByRole('tree', { name: 'Subagent sessions' });
    if (!await list.isVisible()) await this.page.getByRole('button', { name: /^\d+ subagents?$/ }).click();
    await list.waitFor();
    return list.getByRole('treeitem').allInnerTexts();
  }

  /** Opens the page of a subagent, by its place in the list. */
  async openSubagent(place: number): Promise<void> {
    await this.subagents();
    const entry = this.page.getByRole('tree', { name: 'Subagent sessions' }).getByRole('treeitem').nth(place);
    await entry.click();
    await this.hierarchy().getByRole('button').nth(1).waitFor();
  }

  /** Goes from a subagent's page to its parent's. */
  async openParent(): Promise<void> {
    await this.hierarchy().getByRole('button').first().click();
    await this.page.getByRole('button', { name: /^\d+ subagents?$/ }).waitFor();
  }

  /** Opens a session by its title in the side bar. */
  async openSession(title: string): Promise<void> {
    const sessions = this.page.getByRole('tree', { name: 'Sessions', exact: true });
    await sessions.getByRole('treeitem', { name: title }).first().click();
    await this.hierarchy().getByRole('button', { name: title }).waitFor();
  }

  /** Writes what is shown to a PNG file. */
  async screenshot(file: string): Promise<void> {
    await this.page.screenshot({ path: file });
  }

  /** Closes the page. */
  async close(): Promise<void> {
    await this.page.close();
  }

  /** The session's title, and before it that of its parent. */
  private hierarchy(): Locator {
    return this.page.getByRole('navigation', { name: 'Session hierarchy' });
  }
}
