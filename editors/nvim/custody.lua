-- custody in Neovim 0.7 or newer. Copy this file to ~/.config/nvim/plugin/custody.lua, or paste it into init.lua.
--
-- vim.g.custody, set before this file is read, changes the defaults:
--   { cmd = { 'custody', 'lsp' }, lens = 'agents', hints = 'off', diagnostics = true }
-- lens and hints are 'off', 'agents' (blocks that agents wrote) or 'on' (all blocks).
--
-- K, or vim.lsp.buf.hover(), shows why a line is there; :CustodyWhy shows only custody's answer, beside other servers.

local options = vim.tbl_extend('force', {
  cmd = { 'custody', 'lsp' }, lens = 'agents', hints = 'off', diagnostics = true,
}, vim.g.custody or {})
local group = vim.api.nvim_create_augroup('custody', { clear = true })
local clients = {}

local function root_of(file)
  local folder = vim.fn.fnamemodify(file, ':p:h')
  local found = vim.fn.finddir('.git', folder .. ';')
  if found == '' then found = vim.fn.findfile('.git', folder .. ';') end -- a linked work tree
  if found == '' then return nil end
  return vim.fn.fnamemodify((vim.fn.fnamemodify(found, ':p'):gsub('/$', '')), ':h')
end

local function client_of(buffer)
  for id in pairs(clients) do
    if vim.lsp.buf_is_attached(buffer, id) then return id end
  end
end

-- Not vim.lsp.codelens.refresh: before a server has started, Neovim 0.7 waits for its answer forever.
local function refresh(buffer)
  local id = client_of(buffer)
  local client = id and vim.lsp.get_client_by_id(id)
  if options.lens == 'off' or not (client and client.initialized) then return end
  local params = { textDocument = { uri = vim.uri_from_bufnr(buffer) } }
  client.request('textDocument/codeLens', params, vim.lsp.codelens.on_codelens, buffer)
end

local function attach(buffer)
  local file = vim.api.nvim_buf_get_name(buffer)
  if file == '' or vim.bo[buffer].buftype ~= '' or client_of(buffer) then return end
  local root = root_of(file)
  if not root then return end
  local id
  for other in pairs(clients) do id = other end
  if not id then
    id = vim.lsp.start_client({
      name = 'custody', cmd = options.cmd, root_dir = root,
      init_options = { lens = options.lens, hints = options.hints, diagnostics = options.diagnostics },
      on_attach = function(_, attached) refresh(attached) end,
      on_exit = function(_, _, ended) clients[ended] = nil end,
    })
    if not id then return end
    clients[id] = true
  end
  vim.lsp.buf_attach_client(buffer, id)
end

local function show_why(line)
  local buffer = vim.api.nvim_get_current_buf()
  local id = client_of(buffer)
  if not id then return end
  local params = {
    textDocument = { uri = vim.uri_from_bufnr(buffer) }, position = { line = line - 1, character = 0 },
  }
  vim.lsp.get_client_by_id(id).request('textDocument/hover', params, function(_, result)
    if not (result and result.contents) then return end
    local lines = vim.split(result.contents.value, '\n')
    local syntax = result.contents.kind == 'markdown' and 'markdown' or ''
    vim.lsp.util.open_floating_preview(lines, syntax, { focus_id = 'custody' })
  end, buffer)
end

vim.api.nvim_create_user_command('CustodyWhy', function()
  show_why(vim.api.nvim_win_get_cursor(0)[1])
end, { desc = 'Show why the line under the cursor is there' })

vim.lsp.commands['custody.why'] = function(command)
  vim.api.nvim_win_set_cursor(0, { command.arguments[2], 0 })
  show_why(command.arguments[2])
end
vim.lsp.commands['custody.open'] = function(command)
  vim.fn.jobstart({ options.cmd[1], 'serve', '--open', command.arguments[1] }, { cwd = root_of(vim.fn.expand('%:p')) })
end

vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, {
  group = group, callback = function(event) attach(event.buf) end,
})
vim.api.nvim_create_autocmd({ 'BufEnter', 'BufWritePost', 'InsertLeave', 'CursorHold' }, {
  group = group, callback = function(event) refresh(event.buf) end,
})
for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
  if vim.api.nvim_buf_is_loaded(buffer) then attach(buffer) end
end
