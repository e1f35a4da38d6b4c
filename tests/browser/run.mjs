// A newcomer's first minutes, in a real browser against the real program: the sample documents are added, found in both
// languages, seen with their evidence lit up on the page, corrected, and met again in OAI-PMH and the feed. Every page is
// checked for accessibility by axe. Run by ./test; `node run.mjs --pictures FOLDER` also keeps screenshots.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const axe = readFileSync(join(here, "node_modules/axe-core/axe.min.js"), "utf8");
const pictures = process.argv[2] === "--pictures" ? process.argv[3] : undefined;
const folder = mkdtempSync(join(tmpdir(), "zhulu-browser-"));

let passed = 0;
let failed = 0;
async function test(name, body) {
  try {
    await body();
    passed += 1;
  } catch (error) {
    failed += 1;
    console.error(`FAILED ${name}\n  ${error.stack ?? error}`);
  }
}
function expect(condition, message) {
  if (!condition) throw new Error(message);
}

const server = spawn(join(root, "target/debug/zhulu"), ["serve", "--listen", "127.0.0.1:0"], {
  cwd: root,
  env: { ...process.env, XDG_DATA_HOME: folder },
});
let said = "";
server.stderr.on("data", (data) => (said += data));
const link = await new Promise((resolve, reject) => {
  const limit = setTimeout(() => reject(new Error(`the server did not start: ${said}`)), 30_000);
  const look = setInterval(() => {
    const found = said.match(/(http:\/\/\S+)\/sign-in\?token=\S+/);
    if (found) {
      clearTimeout(limit);
      clearInterval(look);
      resolve(found);
    }
  }, 50);
});
const [signIn, base] = link;

const browser = await chromium.launch({
  executablePath: process.env.ZHULU_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const context = await browser.newContext({ locale: "en", viewport: { width: 1280, height: 900 } });
const page = await context.newPage();
const strays = [];
page.on("request", (request) => request.url().startsWith(base) || strays.push(request.url()));
const complaints = [];
// A tombstone answers 410, and the browser notes that as an error of its own.
page.on("console", (message) => message.type() === "error" && !message.text().includes("410") && complaints.push(message.text()));
page.on("pageerror", (error) => complaints.push(String(error)));

async function picture(name) {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`) });
}
async function accessible(name) {
  // Through the debugger, since the pages' own policy rightly forbids scripts from elsewhere.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run({ runOnly: ["wcag2a", "wcag2aa"] }));
  const found = violations.map((v) => `${v.id}: ${v.help} (${v.nodes.map((n) => n.target).join(", ")})`);
  expect(found.length === 0, `${name} is not accessible to all: ${found.join("; ")}`);
}

await test("an empty catalogue offers the samples, to whoever has signed in", async () => {
  await page.goto(base);
  expect((await page.locator('form[action="/add/samples"]').count()) === 0, "the samples are offered to a stranger");
  await accessible("the empty home page");
  await page.goto(signIn);
  expect(page.url().startsWith(`${base}/`) && !page.url().includes("token="), "the token stays in the address");
  await page.goto(base);
  await picture("empty");
  await page.locator('form[action="/add/samples"] button').click();
  await page.waitForLoadState();
  for (let round = 0; round < 100; round++) {
    const records = await (await fetch(`${base}/api/v1/records?q=&limit=50`)).json();
    if (records.total >= 8) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error("the samples did not arrive");
});

await test("the home page lists what is new", async () => {
  await page.goto(base);
  expect((await page.locator("ol.results > li").count()) >= 8, "not all samples are listed");
  await accessible("the home page");
  await picture("home-en");
});

await test("Chinese is found in either script, with the match lit up", async () => {
  for (const word of ["候鸟", "候鳥"]) {
    await page.goto(`${base}/search?q=${encodeURIComponent(word)}`);
    expect((await page.locator("ol.results > li").count()) === 1, `${word} finds one record`);
    expect((await page.locator("mark").allTextContents()).includes("候鸟"), `${word} is marked`);
  }
  await accessible("the search page");
  await picture("search");
});

await test("the portal speaks Chinese", async () => {
  await page.goto(`${base}/?lang=zh`);
  expect((await page.locator("html").getAttribute("lang")) === "zh", "the page says it is Chinese");
  await accessible("the Chinese home page");
  await picture("home-zh");
  await page.goto(`${base}/search?q=`);
  expect((await page.locator("html").getAttribute("lang")) === "zh", "the choice is remembered");
});

let record;
await test("a record shows where each value was read", async () => {
  await page.goto(`${base}/search?q=${encodeURIComponent("候鸟")}`);
  await page.locator("ol.results > li a").first().click();
  record = page.url();
  const image = page.locator("aside.pages img").first();
  await image.scrollIntoViewIfNeeded();
  await page.waitForFunction(() => document.querySelector("aside.pages img").naturalWidth > 300);
  const box = page.locator("aside.pages svg g rect").first();
  const place = await box.boundingBox();
  expect(place.width > 20 && place.height > 5, "the title's box has a size on the page");
  await page.evaluate(() => scrollTo(0, 0));
  await page.locator("[data-statement]").first().hover();
  await picture("record-zh");
  await page.goto(`${record}?lang=en`);
  await page.waitForFunction(() => document.querySelector("aside.pages img").naturalWidth > 300);
  await page.locator("[data-statement]").first().hover();
  await picture("record");
  await accessible("the record page");
});

await test("a correction stands, with its author in the history", async () => {
  await page.goto(`${record}/edit`);
  await accessible("the edit page");
  await picture("edit");
  const field = page.locator('input[name="title"], textarea[name="title"], [name^="title"]').first();
  await field.fill("更正后的题名");
  await page.locator("form button.primary").first().click();
  await page.waitForLoadState();
  expect((await page.locator("h1").first().textContent()).includes("更正后的题名"), "the new title is shown");
  expect((await page.locator("body").textContent()).includes("owner"), "the history names who did it");
});

await test("what people say cannot run as a script", async () => {
  await page.goto(`${record}/edit`);
  const field = page.locator('[name^="title"]').first();
  await field.fill("<script>window.taken = 1</script><img src=x onerror='window.taken = 1'>");
  await page.locator("form button.primary").first().click();
  await page.waitForLoadState();
  expect((await page.evaluate(() => window.taken)) === undefined, "a title ran as a script");
  await page.goto(`${base}/search?q=script`);
  expect((await page.evaluate(() => window.taken)) === undefined, "a result ran as a script");
});

await test("a file dropped in becomes a record", async () => {
  await page.goto(`${base}/add`);
  await accessible("the add page");
  await picture("add");
  await page.locator('input[type="file"]').setInputFiles({ name: "新文件.txt", mimeType: "text/plain", buffer: Buffer.from("浮标记\n\n作者：某某\n\n摘要：一个新的文件。\n") });
  await page.locator("form button.primary").first().click();
  for (let round = 0; round < 50; round++) {
    const records = await (await fetch(`${base}/api/v1/records?q=${encodeURIComponent("浮标记")}`)).json();
    if (records.total === 1) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error("the file did not become a record");
});

await test("the same records are in OAI-PMH and in the feed", async () => {
  const list = await (await fetch(`${base}/oai?verb=ListRecords&metadataPrefix=oai_dc`)).text();
  expect((list.match(/<record>/g) ?? []).length === 9, "OAI-PMH lists all nine");
  expect(list.includes("浮标记"), "and the new one among them");
  const feed = await (await fetch(`${base}/feed/rss2`)).text();
  expect(feed.includes("<rss") && feed.includes("浮标记"), "the feed has the newest");
});

await test("a removed record leaves a tombstone", async () => {
  page.on("dialog", (dialog) => dialog.accept());
  await page.goto(`${record}/edit`);
  await page.locator('form[action$="/delete"] button').click();
  await page.waitForLoadState();
  const answer = await page.goto(record);
  expect(answer.status() === 410, "it says Gone");
  await accessible("the tombstone");
});

await test("it fits a telephone", async () => {
  await page.setViewportSize({ width: 360, height: 700 });
  for (const path of ["/", "/search?q=", "/add", "/about", "/sources"]) {
    await page.goto(base + path);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow <= 0, `${path} is ${overflow} pixels too wide`);
  }
  await page.goto(base);
  await picture("telephone");
});

await test("no page asks anybody else for anything, nor complains", async () => {
  expect(strays.length === 0, `requests to ${strays.join(", ")}`);
  expect(complaints.length === 0, complaints.join("; "));
});

await browser.close();
const ended = new Promise((resolve) => server.on("exit", resolve));
server.kill("SIGTERM");
await test("it stops when told to", async () => expect((await ended) === 0, "the server's exit code is 0"));
rmSync(folder, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
