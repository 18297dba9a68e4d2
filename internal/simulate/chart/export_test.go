package chart

// FileName is fileName.
var FileName = fileName
