// SPDX-License-Identifier: Apache-2.0
#include "src/serve/page.hpp"

namespace triax {

const char* const page_html = R"PAGE(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>triax serve</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
  #text { white-space: pre-wrap; border: 1px solid #8888; min-height: 12rem; padding: .7rem; }
  #text b { color: #07c; font-weight: inherit; }
  textarea { width: 100%; box-sizing: border-box; font: inherit; }
  input { font: inherit; width: 6rem; } #key { width: 20rem; }
  #state { color: #888; }
</style>
<h1 id="model">triax</h1>
<p id="state">...</p>
<div id="text"></div>
<p><textarea id="prompt" rows="4" placeholder="Text"></textarea></p>
<p>
  <button id="go">Send</button> <button id="stop" disabled>Stop</button>
  <label>tokens <input id="tokens" type="number" value="200" min="1"></label>
  <label>temperature <input id="temperature" type="number" value="0.7" min="0" max="2" step="0.1"></label>
  <label><input id="chat" type="checkbox" style="width: auto"> chat</label>
</p>
<p><label>key <input id="key" type="password" autocomplete="off" placeholder="api_key of endpoint.json"></label></p>
<script>
const $ = id => document.getElementById(id);
const headers = () => $('key').value ? {Authorization: 'Bearer ' + $('key').value} : {};
let messages = [], running = null, last = null;

function show(text, own) {
  const part = document.createElement(own ? 'b' : 'span');
  part.textContent = text;
  $('text').append(part);
}

async function send() {
  const prompt = $('prompt').value, chat = $('chat').checked;
  const common = {max_tokens: +$('tokens').value, temperature: +$('temperature').value, stream: true};
  if (chat) messages.push({role: 'user', content: prompt});
  else $('text').textContent = '';
  show(chat ? '\n' + prompt + '\n' : prompt, true);
  running = new AbortController();
  $('go').disabled = true; $('stop').disabled = false;
  let answer = '';
  try {
    const reply = await fetch(chat ? 'v1/chat/completions' : 'v1/completions', {
      method: 'POST', headers: headers(), signal: running.signal,
      body: JSON.stringify(chat ? {...common, messages} : {...common, prompt})});
    if (!reply.ok) throw Error((await reply.json()).error.message);
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = '';;) {
      const {value, done} = await reader.read();
      if (done) break;
      const lines = (text + value).split('\n');
      text = lines.pop();
      for (const line of lines) {
        if (!line.startsWith('data: {')) continue;
        const event = JSON.parse(line.slice(6));
        if (event.error) throw Error(event.error.message);
        const choice = event.choices[0];
        const piece = chat ? choice.delta.content : choice.text;
        if (piece) { answer += piece; show(piece); }
      }
    }
    if (chat) $('prompt').value = '';
  } catch (error) {
    if (error.name != 'AbortError') show('\n' + error.message + '\n', true);
  }
  if (chat) messages.push({role: 'assistant', content: answer});
  $('go').disabled = false; $('stop').disabled = true;
}

async function look() {
  try {
    const health = await (await fetch('health')).json();
    let text = `${health.status}: ${health.running} running, ${health.waiting} waiting`;
    const reply = await fetch('metrics', {headers: headers()});
    if (reply.ok) {
      const found = /^triax_generation_tokens_total (\S+)/m.exec(await reply.text());
      const now = {time: Date.now(), tokens: +found[1]};
      if (last) text += `, ${((now.tokens - last.tokens) * 1000 / (now.time - last.time)).toFixed(1)} tokens/s`;
      last = now;
      const models = await (await fetch('v1/models', {headers: headers()})).json();
      $('model').textContent = models.data[0].id;
    } else if (reply.status == 401) {
      text += ', a key is needed';
    }
    $('state').textContent = text;
  } catch (error) {
    $('state').textContent = 'no server';
  }
}

$('go').onclick = send;
$('stop').onclick = () => running.abort();
$('chat').onchange = () => { messages = []; $('text').textContent = ''; };
setInterval(look, 2000);
look();
</script>
</html>
)PAGE";

}  // namespace triax
