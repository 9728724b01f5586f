;;; custody.el --- Who wrote this line, and why -*- lexical-binding: t -*-

;; Package-Requires: ((emacs "27.1"))

;;; Commentary:

;; Load this file, or paste it into your init file.  `C-c w' then shows why the line at point is there, also in a buffer
;; that is not saved.  It starts `custody why' and needs no language server, so that it works beside one.
;;
;; `custody-eglot-setup' makes eglot start `custody lsp' in the given modes instead: hovers, hints and the gate's
;; reasons.  eglot runs one server in each buffer, so use it for modes that have no other.

;;; Code:

(defvar custody-command "custody"
  "The program that answers.")

(defun custody--answer (buffer)
  "Return the exit status of `custody why' for the line at point; its answer goes to BUFFER."
  (let ((place (format "%s:%d" (file-name-nondirectory buffer-file-name) (line-number-at-pos nil t)))
        (coding-system-for-write (or buffer-file-coding-system 'utf-8))
        (coding-system-for-read 'utf-8))
    (save-restriction
      (widen)
      (call-process-region nil nil custody-command nil (list buffer nil) nil "why" place "--contents" "-"))))

;;;###autoload
(defun custody-why ()
  "Show why the line at point is there: who wrote it, and for which prompt."
  (interactive)
  (unless buffer-file-name (user-error "This buffer has no file"))
  (let ((shown (get-buffer-create "*custody*")))
    (with-current-buffer shown
      (let ((inhibit-read-only t)) (erase-buffer))
      (special-mode))
    (let ((status (let ((inhibit-read-only t)) (custody--answer shown))))
      (unless (eq status 0) (user-error "No answer: is this file in a git repository?")))
    (display-buffer shown)))

(defun custody-eglot-setup (modes)
  "Make eglot start `custody lsp' in MODES, a list such as \\='(text-mode)."
  (require 'eglot)
  (add-to-list 'eglot-server-programs `(,modes . (,custody-command "lsp"))))

(global-set-key (kbd "C-c w") #'custody-why)

(provide 'custody)
;;; custody.el ends here
