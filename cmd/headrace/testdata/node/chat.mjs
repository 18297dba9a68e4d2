// What a program does with the SDKs as they come: keys and base URLs from the environment, nothing else.
// It prints a line of JSON for each call.
import OpenAI from "openai";
import Anthropic from "@anthropic-ai/sdk";

const [calls] = process.argv.slice(2).map(Number);
const messages = [{ role: "user", content: "What is a headrace?" }];
const retries = process.env.MAX_RETRIES === undefined ? {} : { maxRetries: Number(process.env.MAX_RETRIES) };
const openai = new OpenAI(retries);
const anthropic = new Anthropic(retries);

const kinds = {
  async openai() {
    const { data, response } = await openai.chat.completions.create({ model: "gpt-4o-mini", messages }).withResponse();
    return { text: data.choices[0].message.content, attempts: response.headers.get("x-headrace-attempts") };
  },
  async openaiStream() {
    let text = "", chunks = 0;
    for await (const chunk of await openai.chat.completions.create({ model: "gpt-4o-mini", messages, stream: true })) {
      text += chunk.choices[0]?.delta?.content ?? "";
      chunks++;
    }
    return { text, chunks };
  },
  async anthropic() {
    const { data, response } = await anthropic.messages.create({ model: "claude-haiku-4-5", max_tokens: 50, messages }).withResponse();
    return { text: data.content[0].text, attempts: response.headers.get("x-headrace-attempts") };
  },
  async anthropicStream() {
    let text = "", chunks = 0;
    for await (const event of anthropic.messages.stream({ model: "claude-haiku-4-5", max_tokens: 50, messages })) {
      text += event.delta?.text ?? "";
      chunks++;
    }
    return { text, chunks };
  },
};

await Promise.all(Object.entries(kinds).flatMap(([kind, call]) => Array.from({ length: calls }, async () => {
  try {
    console.log(JSON.stringify({ kind, ...(await call()) }));
  } catch (e) {
    console.log(JSON.stringify({ kind, error: e.constructor.name, status: e.status, code: e.code, message: e.message, headrace: e.headers?.get?.("x-headrace-error") }));
  }
})));
